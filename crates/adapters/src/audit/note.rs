//! Signed notes (c2sp.org/signed-note) and the checkpoints in them (c2sp.org/tlog-checkpoint), byte for byte as other
//! tools read and write them.

use std::fmt;

use data_encoding::{BASE64, HEXLOWER};
use ed25519_dalek::{Signature, Signer as _, SigningKey, VerifyingKey};
use sha2::{Digest, Sha256};

use super::tree::{Hash, Tree};

/// The kind of signature: Ed25519.
const ED25519: u8 = 1;
/// What a signature line begins with.
pub(super) const DASH: &str = "\u{2014} ";
/// A note with more signatures than this is not read.
const SIGNATURES_MAX: usize = 100;

/// Why a key or a note cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NoteError {
    /// Not `<name>+<8 hex>+<base64>`, or its parts do not fit each other.
    #[error("this is not a verifier key of the form <name>+<8 hex digits>+<base64>")]
    BadVerifier,
    /// Not `PRIVATE+KEY+<name>+<8 hex>+<base64>`, or its parts do not fit each other.
    #[error("this is not a signing key of the form PRIVATE+KEY+<name>+<8 hex digits>+<base64>")]
    BadSigner,
    /// Not a text, an empty line and signatures.
    #[error("this is not a signed note: a text, an empty line, and lines that begin with an em dash")]
    BadNote,
    /// Not an origin, a size and a root.
    #[error("this is not a checkpoint: an origin, a number of lines, and a root in base64")]
    BadCheckpoint,
}

/// Signs.
#[derive(Clone)]
pub struct Signer {
    name: String,
    key: SigningKey,
}

impl Signer {
    /// The key with this seed, which must be random.
    pub fn new(name: &str, seed: &[u8; 32]) -> Option<Self> {
        is_name(name).then(|| Self { name: name.to_owned(), key: SigningKey::from_bytes(seed) })
    }

    /// Reads a key file.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let rest = text.trim_end().strip_prefix("PRIVATE+KEY+").ok_or(NoteError::BadSigner)?;
        let (name, id, seed) = parts(rest).ok_or(NoteError::BadSigner)?;
        let signer = Self { name, key: SigningKey::from_bytes(&seed) };
        (signer.verifier().id == id).then_some(signer).ok_or(NoteError::BadSigner)
    }

    /// The key as a file has it. Secret.
    pub fn secret(&self) -> String {
        let id = HEXLOWER.encode(&self.verifier().id);
        format!("PRIVATE+KEY+{}+{id}+{}", self.name, BASE64.encode(&typed(self.key.as_bytes())))
    }

    /// Its public side.
    pub fn verifier(&self) -> Verifier {
        Verifier::new(&self.name, self.key.verifying_key())
    }

    /// The note with `text`, which ends with a line end and has no empty line.
    pub fn sign(&self, text: &str) -> String {
        let signed = [&self.verifier().id[..], &self.key.sign(text.as_bytes()).to_bytes()].concat();
        format!("{text}\n{DASH}{} {}\n", self.name, BASE64.encode(&signed))
    }
}

impl fmt::Debug for Signer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Signer({})", self.verifier())
    }
}

/// Checks signatures; printed and read as `<name>+<8 hex>+<base64>`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verifier {
    name: String,
    id: [u8; 4],
    key: VerifyingKey,
}

impl Verifier {
    fn new(name: &str, key: VerifyingKey) -> Self {
        let digest = Sha256::new()
            .chain_update(name.as_bytes())
            .chain_update([b'\n', ED25519])
            .chain_update(key.as_bytes())
            .finalize();
        Self { name: name.to_owned(), id: [digest[0], digest[1], digest[2], digest[3]], key }
    }

    /// Reads a verifier key.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let (name, id, key) = parts(text.trim()).ok_or(NoteError::BadVerifier)?;
        let key = VerifyingKey::from_bytes(&key).map_err(|_| NoteError::BadVerifier)?;
        let verifier = Self::new(&name, key);
        (verifier.id == id).then_some(verifier).ok_or(NoteError::BadVerifier)
    }

    fn checks(&self, text: &str, signature: &[u8; 64]) -> bool {
        self.key.verify_strict(text.as_bytes(), &Signature::from_bytes(signature)).is_ok()
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let id = HEXLOWER.encode(&self.id);
        write!(f, "{}+{id}+{}", self.name, BASE64.encode(&typed(self.key.as_bytes())))
    }
}

/// `<name>+<8 hex>+<base64 of the kind and 32 bytes>`
fn parts(text: &str) -> Option<(String, [u8; 4], [u8; 32])> {
    let mut split = text.splitn(3, '+');
    let (name, id, key) = (split.next()?, split.next()?, split.next()?);
    let id = HEXLOWER.decode(id.as_bytes()).ok()?.try_into().ok()?;
    let key = BASE64.decode(key.as_bytes()).ok()?;
    let key = key.strip_prefix(&[ED25519])?.try_into().ok()?;
    is_name(name).then(|| (name.to_owned(), id, key))
}

fn typed(key: &[u8; 32]) -> Vec<u8> {
    [&[ED25519], &key[..]].concat()
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(|c: char| c.is_whitespace() || c.is_control() || c == '+')
}

/// A text and who signed it, nothing of it checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    /// What was signed, with its last line end.
    pub text: String,
    signatures: Vec<Signed>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Signed {
    name: String,
    id: [u8; 4],
    bytes: Vec<u8>,
}

/// What the signatures of a note say about one key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Check {
    /// It signed this text.
    Good,
    /// There is a signature in its name, and it is wrong.
    Bad,
    /// It did not sign.
    Absent,
}

impl Note {
    /// Takes a note apart.
    pub fn parse(note: &str) -> Result<Self, NoteError> {
        if note.contains(|c: char| c.is_ascii_control() && c != '\n') {
            return Err(NoteError::BadNote);
        }
        let (text, lines) = note.rsplit_once("\n\n").ok_or(NoteError::BadNote)?;
        let lines = lines.strip_suffix('\n').ok_or(NoteError::BadNote)?;
        let signatures: Option<Vec<Signed>> = lines.split('\n').map(signed).collect();
        let signatures = signatures.filter(|all| all.len() <= SIGNATURES_MAX).ok_or(NoteError::BadNote)?;
        Ok(Self { text: format!("{text}\n"), signatures })
    }

    /// Whether `verifier` signed it. A signature that does not fit outweighs one that does.
    pub fn check(&self, verifier: &Verifier) -> Check {
        let mut own =
            self.signatures.iter().filter(|s| s.name == verifier.name && s.id == verifier.id).peekable();
        if own.peek().is_none() {
            return Check::Absent;
        }
        let good = own.all(|s| {
            <&[u8; 64]>::try_from(s.bytes.as_slice()).is_ok_and(|bytes| verifier.checks(&self.text, bytes))
        });
        if good { Check::Good } else { Check::Bad }
    }

    /// Who claims to have signed it.
    pub fn claimed(&self) -> Vec<String> {
        self.signatures.iter().map(|s| format!("{}+{}", s.name, HEXLOWER.encode(&s.id))).collect()
    }
}

fn signed(line: &str) -> Option<Signed> {
    let (name, bytes) = line.strip_prefix(DASH)?.split_once(' ')?;
    let bytes = BASE64.decode(bytes.as_bytes()).ok()?;
    let (id, bytes) = bytes.split_first_chunk::<4>()?;
    (is_name(name) && !bytes.is_empty()).then(|| Signed {
        name: name.to_owned(),
        id: *id,
        bytes: bytes.to_vec(),
    })
}

/// What a log was at one size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Which log.
    pub origin: String,
    /// How many lines.
    pub size: u64,
    /// The tree head over them.
    pub root: Hash,
}

impl Checkpoint {
    /// The head of `tree` in the log `origin`.
    pub fn of(origin: &str, tree: &Tree) -> Self {
        Self { origin: origin.to_owned(), size: tree.size(), root: tree.root() }
    }

    /// Reads the text of a note. Lines after the third are extensions, which say nothing about the log.
    pub fn parse(text: &str) -> Result<Self, NoteError> {
        let mut lines = text.strip_suffix('\n').unwrap_or_default().split('\n');
        let (origin, size, root) = (lines.next(), lines.next(), lines.next());
        let origin = origin.filter(|o| !o.is_empty()).ok_or(NoteError::BadCheckpoint)?;
        // A number has one form only: what is signed must not be read in two ways.
        let number = size.and_then(|s| s.parse().ok().filter(|n: &u64| n.to_string() == s));
        let size = number.ok_or(NoteError::BadCheckpoint)?;
        let root = root.and_then(|r| BASE64.decode(r.as_bytes()).ok()?.try_into().ok());
        Ok(Self { origin: origin.to_owned(), size, root: root.ok_or(NoteError::BadCheckpoint)? })
    }
}

impl fmt::Display for Checkpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{}\n{}\n{}", self.origin, self.size, BASE64.encode(&self.root))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Keys, text and signature that the Go implementation of signed notes tests with.
    const SECRET: &str = "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const PUBLIC: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const TEXT: &str = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    const SIGNATURE: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";

    #[test]
    fn a_note_is_signed_byte_for_byte_as_others_sign_it() {
        let signer = Signer::parse(SECRET).unwrap();
        assert_eq!(signer.sign(TEXT), format!("{TEXT}\n{SIGNATURE}"));
        assert_eq!((signer.secret(), signer.verifier().to_string()), (SECRET.to_owned(), PUBLIC.to_owned()));
    }

    #[test]
    fn a_note_is_good_only_as_it_was_signed() {
        let verifier = Verifier::parse(PUBLIC).unwrap();
        let note = format!("{TEXT}\n{SIGNATURE}");
        assert_eq!(Note::parse(&note).unwrap().check(&verifier), Check::Good);
        let changed = note.replace("cryptography", "cryptographY");
        assert_eq!(Note::parse(&changed).unwrap().check(&verifier), Check::Bad);
        let other = Signer::new("other", &[7; 32]).unwrap();
        assert_eq!(Note::parse(&note).unwrap().check(&other.verifier()), Check::Absent);
        let twice = format!("{note}{}", SIGNATURE.replace("x08go/ZJ", "x08go/ZK"));
        assert_eq!(Note::parse(&twice).unwrap().check(&verifier), Check::Bad);
    }

    #[test]
    fn no_part_of_a_key_and_no_changed_key_is_a_key() {
        for end in 0..PUBLIC.len() {
            assert_eq!(Verifier::parse(&PUBLIC[..end]), Err(NoteError::BadVerifier));
        }
        for at in 0..PUBLIC.len() {
            let mut bytes = PUBLIC.as_bytes().to_vec();
            bytes[at] += 1;
            assert_eq!(Verifier::parse(&String::from_utf8(bytes).unwrap()), Err(NoteError::BadVerifier));
        }
        assert!(Signer::parse(&SECRET.replace("Peter", "Paula")).is_err());
        assert!(Signer::new("a b", &[1; 32]).is_none());
    }

    #[test]
    fn a_checkpoint_reads_back_and_has_one_form() {
        let mut tree = Tree::default();
        tree.push([3; 32]);
        let checkpoint = Checkpoint::of("synod/1", &tree);
        assert_eq!(Checkpoint::parse(&checkpoint.to_string()), Ok(checkpoint.clone()));
        for bad in [
            checkpoint.to_string().replace("\n1\n", "\n01\n"),
            checkpoint.to_string().replace("\n1\n", "\n+1\n"),
            "synod/1\n1\n".to_owned(),
            "\n1\nAAAA\n".to_owned(),
            String::new(),
        ] {
            assert_eq!(Checkpoint::parse(&bad), Err(NoteError::BadCheckpoint), "{bad:?}");
        }
    }
}
