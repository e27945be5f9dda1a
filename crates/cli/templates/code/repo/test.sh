#!/bin/sh
# All tests. Each says what it checks; the exit code is 1 if one failed.
failed=0
check() { # what, expected, got
  if [ "$2" = "$3" ]; then
    echo "ok: $1"
  else
    echo "FAILED: $1: expected '$2', got '$3'"
    failed=1
  fi
}

check "greets" "Hello!" "$(sh greet.sh)"

exit $failed
