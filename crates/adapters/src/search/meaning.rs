//! Search by meaning: texts in pieces, each with a vector that a provider gave. A piece is asked for once, by its
//! content: what did not change is never sent again.

use sha2::{Digest as _, Sha256};

/// About so much of a text is one piece, cut at line ends.
const PIECE_BYTES: usize = 1_500;
/// So many pieces of one file have vectors.
const PIECES_MAX: usize = 64;
/// The rank that counts half as much as the first, as is usual for this way of joining lists.
const HALF: f64 = 60.0;

/// A part of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Piece {
    /// Its first line, from 1.
    pub(crate) line: usize,
    pub(crate) text: String,
    /// The same text for the same model has the same.
    pub(crate) hash: Vec<u8>,
}

/// The pieces of a text.
pub(super) fn pieces(model: &str, text: &str) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut piece = String::new();
    let mut first = 1;
    let mut close = |piece: &mut String, line: usize| {
        let text = std::mem::take(piece);
        if !text.trim().is_empty() {
            pieces.push(Piece { line, hash: hash(model, &text), text });
        }
    };
    for (number, line) in text.split_inclusive('\n').enumerate() {
        if piece.len() + line.len() > PIECE_BYTES && !piece.is_empty() {
            close(&mut piece, first);
            first = number + 1;
        }
        let end = line.floor_char_boundary(PIECE_BYTES);
        piece.push_str(&line[..end]);
    }
    close(&mut piece, first);
    pieces.truncate(PIECES_MAX);
    pieces
}

fn hash(model: &str, text: &str) -> Vec<u8> {
    Sha256::new().chain_update(model).chain_update([0]).chain_update(text).finalize().to_vec()
}

/// A vector of length 1 in a quarter of its size; near enough for an order.
pub(super) fn pack(vector: &[f32]) -> Vec<u8> {
    // The values are within ±127, so nothing is lost but what lies behind the point.
    vector.iter().map(|x| ((x * 127.0).round() as i8).to_ne_bytes()[0]).collect()
}

/// How near two vectors are; nothing is near to one of another length.
pub(super) fn nearness(packed: &[u8], wanted: &[f32]) -> f32 {
    if packed.len() != wanted.len() {
        return f32::MIN;
    }
    packed.iter().zip(wanted).map(|(byte, x)| f32::from(i8::from_ne_bytes([*byte])) * x).sum()
}

/// Joins two lists of files, each the best first: by reciprocal rank.
pub(crate) fn join(one: &[String], other: &[String]) -> Vec<String> {
    let mut scores: Vec<(f64, &String)> = Vec::new();
    for list in [one, other] {
        for (rank, file) in list.iter().enumerate() {
            let score = 1.0 / (HALF + rank as f64);
            match scores.iter_mut().find(|(_, known)| *known == file) {
                Some((sum, _)) => *sum += score,
                None => scores.push((score, file)),
            }
        }
    }
    scores.sort_by(|a, b| b.0.total_cmp(&a.0));
    scores.into_iter().map(|(_, file)| file.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_begin_at_lines_and_leave_nothing_out() {
        let text: String = (1..=200).map(|n| format!("line {n} of many words\n")).collect();
        let pieces = pieces("m", &text);
        assert!(pieces.len() > 2);
        assert_eq!(pieces.iter().map(|p| p.text.as_str()).collect::<String>(), text);
        for piece in &pieces {
            assert!(piece.text.starts_with(&format!("line {} ", piece.line)), "{piece:?}");
        }
        assert_ne!(pieces[0].hash, super::pieces("other", &text)[0].hash);
    }

    #[test]
    fn what_both_lists_have_comes_first() {
        let list = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        assert_eq!(join(&list(&["a", "b", "c"]), &list(&["c", "d"])), list(&["c", "a", "b", "d"]));
        assert_eq!(join(&list(&["a"]), &[]), list(&["a"]));
    }

    #[test]
    fn packing_keeps_the_order() {
        let near = pack(&[0.8, 0.6]);
        let far = pack(&[0.0, 1.0]);
        assert!(nearness(&near, &[1.0, 0.0]) > nearness(&far, &[1.0, 0.0]));
        assert_eq!(nearness(&near, &[1.0]), f32::MIN);
    }
}
