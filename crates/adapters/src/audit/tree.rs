//! The tree of RFC 6962 over the lines of the log, kept as the few hashes that later lines build on: adding a line
//! and taking the root cost O(log n), and no line is read again.

use sha2::{Digest, Sha256};

/// A SHA-256.
pub type Hash = [u8; 32];

/// The hash of bytes as they are.
pub fn hash(bytes: &[u8]) -> Hash {
    Sha256::digest(bytes).into()
}

/// The hash of a line as a leaf. The zero in front keeps leaves and nodes apart.
pub fn leaf(line: &[u8]) -> Hash {
    Sha256::new().chain_update([0]).chain_update(line).finalize().into()
}

fn node(left: &Hash, right: &Hash) -> Hash {
    Sha256::new().chain_update([1]).chain_update(left).chain_update(right).finalize().into()
}

/// The whole trees that the leaves so far make up, the largest first.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Tree {
    /// As many as `size` has ones in binary.
    peaks: Vec<Hash>,
    size: u64,
}

impl Tree {
    /// The tree with these peaks; `None` if a tree of this size has another number of them.
    pub fn of(size: u64, peaks: Vec<Hash>) -> Option<Self> {
        (peaks.len() == size.count_ones() as usize).then_some(Self { peaks, size })
    }

    /// How many leaves.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The hashes to keep.
    pub fn peaks(&self) -> &[Hash] {
        &self.peaks
    }

    /// Adds a leaf.
    pub fn push(&mut self, leaf: Hash) {
        let mut whole = leaf;
        let mut rest = self.size;
        while rest & 1 == 1
            && let Some(left) = self.peaks.pop()
        {
            whole = node(&left, &whole);
            rest >>= 1;
        }
        self.peaks.push(whole);
        self.size += 1;
    }

    /// The tree head.
    pub fn root(&self) -> Hash {
        let mut peaks = self.peaks.iter().rev();
        let Some(last) = peaks.next() else { return hash(b"") };
        peaks.fold(*last, |right, left| node(left, &right))
    }
}

#[cfg(test)]
mod tests {
    use data_encoding::HEXLOWER_PERMISSIVE as HEX;

    use super::*;

    /// Leaves and heads that certificate transparency's own implementations test with.
    const LEAVES: [&str; 8] =
        ["", "00", "10", "2021", "3031", "40414243", "5051525354555657", "606162636465666768696a6b6c6d6e6f"];
    const HEADS: [&str; 9] = [
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    ];

    #[test]
    fn heads_are_those_of_rfc_6962() {
        let mut tree = Tree::default();
        assert_eq!(HEX.encode(&tree.root()), HEADS[0]);
        for (line, head) in LEAVES.iter().zip(&HEADS[1..]) {
            tree.push(leaf(&HEX.decode(line.as_bytes()).unwrap()));
            assert_eq!(HEX.encode(&tree.root()), *head);
        }
    }

    /// The definition, word by word: split at the largest power of two below the size.
    fn by_definition(lines: &[Vec<u8>]) -> Hash {
        match lines {
            [] => hash(b""),
            [one] => leaf(one),
            many => {
                let split = 1 << (many.len() - 1).ilog2();
                node(&by_definition(&many[..split]), &by_definition(&many[split..]))
            }
        }
    }

    #[test]
    fn every_size_has_the_head_of_the_definition() {
        let lines: Vec<Vec<u8>> = (0..130_u32).map(|n| n.to_string().into_bytes()).collect();
        let mut tree = Tree::default();
        for (n, line) in lines.iter().enumerate() {
            assert_eq!(tree.root(), by_definition(&lines[..n]), "{n} lines");
            tree.push(leaf(line));
            assert_eq!(Tree::of(tree.size(), tree.peaks().to_vec()), Some(tree.clone()));
        }
    }
}
