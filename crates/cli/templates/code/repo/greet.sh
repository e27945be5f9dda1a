#!/bin/sh
# Greets.
echo "Hello!"
