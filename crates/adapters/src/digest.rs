//! The digest by which content is known that somebody approved.

use sha2::{Digest as _, Sha256};

/// The SHA-256 of some bytes, in hexadecimal.
pub(crate) fn digest(bytes: &[u8]) -> String {
    data_encoding::HEXLOWER.encode(&Sha256::digest(bytes))
}
