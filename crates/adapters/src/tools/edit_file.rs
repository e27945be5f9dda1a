//! Replaces text in a file. The rest of the file is kept to the byte, and so are its permissions.

use std::borrow::Cow;
use std::ops::Range;

use async_trait::async_trait;
use domain::tool::EditFile;
use ports::tools::{Order, Outcome};

use super::files::Answer;
use super::placeholders::{self, View};
use super::replacement::{self, Made, NotReplaced, Replacement};
use super::{Performer, Toolbox, fences, files, own, told};
use crate::beneath::Root;
use crate::search::lines::Clean;

/// So much of a similar line is shown.
const LINE_CHARS_MAX: usize = 240;

#[async_trait]
impl Performer for EditFile {
    const BINDS_FILES: bool = true;

    async fn perform(self, toolbox: &Toolbox, order: Order) -> Outcome {
        let (pass, place, folder) = (toolbox.pass(&order), self.path.clone(), order.folder());
        let answer = toolbox.change_exactly(&folder, move |root| edit(root, &order, &self, &pass)).await;
        told(answer).reading(place.clone()).writing(place)
    }
}

fn edit(root: &Root, order: &Order, act: &EditFile, pass: &fences::Pass) -> Answer {
    let EditFile { path, old, new, all } = act;
    if old.is_empty() {
        return Err(
            "old is empty: give the text to replace, or use write_file to write a whole file".to_owned()
        );
    }
    if old == new {
        return Err("old and new are the same: the edit would change nothing".to_owned());
    }
    let file = files::read_whole(root, path)?;
    let shown = root.shown(path);
    let (old, new) = (in_endings_of(&file, old), in_endings_of(&file, new));
    let view = View::of(&file);
    let seen = view.text();
    // A line with a credential is found by what the agent was shown of it: a guess at the credential is not there, right or
    // wrong.
    let is_hidden = file.matches(&*old).count() != seen.matches(&*old).count();
    let by_view = is_hidden || placeholders::has_any(&old) || placeholders::has_any(&new);
    let text = if by_view { &seen } else { &file };
    let replacement = Replacement { old: &old, new: &new, all: *all };
    if order.ticket.attempt > 1 {
        let as_judged = order.seen.is_some() && own::check_files(root, order, act).is_ok();
        let made = match replacement.is_made(&file) {
            Made::Yes => Made::Yes,
            Made::No | Made::Unknown => replacement.is_made(text),
        };
        match made {
            // An earlier attempt edited the file, and a crash kept Synod from recording the result.
            Made::Yes => return Ok(format!("edited {shown} already")),
            Made::Unknown if !as_judged || own::look_at_file(root, &order.agent, path).is_none() => {
                return Err(format!(
                    "an earlier attempt at this edit was interrupted, and the text of {shown} does not show whether it \
                     was made; read the file, and edit again if it was not"
                ));
            }
            Made::Unknown | Made::No => {}
        }
    }
    let replaced = replacement.apply(text).map_err(|why| in_words(why, &seen, &shown, &old))?;
    let edited = match by_view {
        true => edit_view(&view, text, &replacement).map_err(|refused| refused.in_words(&shown, "new"))?,
        false => replaced.text,
    };
    own::check_files(root, order, act)?;
    files::write_file(root, order.ticket, path, &edited, pass)?;
    let count = replaced.lines.len();
    let noun = if count == 1 { "replacement" } else { "replacements" };
    Ok(format!("edited {shown}: {count} {noun}, {}", replacement::lines_in_words(&replaced.lines)))
}

/// Replaces in lines as they are shown. Of the lines that change, credentials are put back; all other lines stay as they are.
fn edit_view(
    view: &View<'_>,
    text: &str,
    replacement: &Replacement<'_>,
) -> Result<String, placeholders::Refused> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    for (at, old) in text.match_indices(replacement.old) {
        let lines = view.lines_of(at..at + old.len());
        match groups.last_mut() {
            Some(last) if lines.start < last.end => last.end = last.end.max(lines.end),
            _ => groups.push(lines),
        }
    }
    let (mut edited, mut next) = (String::with_capacity(text.len()), 0);
    for lines in groups {
        let shown = &text[view.start_of(lines.start)..view.start_of(lines.end)];
        edited.push_str(&view.raw(next..lines.start));
        next = lines.end;
        edited.push_str(&view.put_back(lines, &shown.replace(replacement.old, replacement.new))?);
    }
    edited.push_str(&view.raw_from(next));
    Ok(edited)
}

/// The same lines with the line endings of a file: models write `\n`, whatever the file has.
fn in_endings_of<'a>(file: &str, part: &'a str) -> Cow<'a, str> {
    let (all, long) = (file.matches('\n').count(), file.matches("\r\n").count());
    match all > 0 && all == long {
        true => Cow::Owned(part.replace("\r\n", "\n").replace('\n', "\r\n")),
        false => Cow::Borrowed(part),
    }
}

fn in_words(why: NotReplaced, text: &str, path: &str, old: &str) -> String {
    match why {
        NotReplaced::Repeated(lines) => format!(
            "old occurs {} times in {path}, at {}; give more of the text around the one you mean, or all: true",
            lines.len(),
            replacement::lines_in_words(&lines)
        ),
        NotReplaced::Absent if has_line_numbers(old) => {
            format!(
                "old does not occur in {path}: leave out the line numbers, which are not part of the file"
            )
        }
        NotReplaced::Absent => {
            let clean = Clean::of(text);
            let nearest: Vec<String> = replacement::nearest(text, old)
                .into_iter()
                .map(|(number, line)| {
                    let line: String = clean.line(line).chars().take(LINE_CHARS_MAX).collect();
                    format!("\n{number:>6}\t{line}")
                })
                .collect();
            match nearest.is_empty() {
                true => {
                    format!("old does not occur in {path}, and no line of it is similar; read the file first")
                }
                false => format!("old does not occur in {path}; the most similar lines:{}", nearest.concat()),
            }
        }
    }
}

/// Whether a text was copied with the numbers that `read_file` shows.
fn has_line_numbers(text: &str) -> bool {
    text.lines().all(|line| {
        let digits = line.trim_start().split_once('\t').map(|(digits, _)| digits);
        digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
    })
}
