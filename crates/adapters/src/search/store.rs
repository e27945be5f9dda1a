//! The index itself: SQLite with FTS5. It holds which words stand in which file, and no text.

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt as _;
use std::path::Path;

use rusqlite::{Connection, ErrorCode, OptionalExtension as _, params};

use super::Scope;
use super::meaning::{self, Piece};
use super::query::{Need, Query, parts_of_names};
use super::walk::{Entry, Stamp, Taken, Walked};

/// Another number means another form: the file is made anew.
const VERSION: i64 = 2;
/// Words of the index that contain what was asked for; of more, some are left out.
const INSIDE_MAX: usize = 64;
/// So many folders are remembered between searches.
const FOLDERS_MAX: usize = 64;

/// With more vectors, those of texts that are gone are taken out.
const VECTORS_MAX: i64 = 100_000;

/// What more files have is common.
const COMMON: i64 = 1_000;

/// Names count more than content.
const RANK: &str = "bm25(0.0, 4.0, 1.0)";

const SCHEMA: &str = "
    CREATE TABLE folders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
    CREATE TABLE files (
        id INTEGER PRIMARY KEY,
        folder INTEGER NOT NULL REFERENCES folders (id),
        path TEXT NOT NULL UNIQUE,
        size INTEGER NOT NULL,
        modified INTEGER NOT NULL,
        changed INTEGER NOT NULL,
        inode INTEGER NOT NULL,
        settled INTEGER NOT NULL,
        pieced TEXT
    );
    CREATE INDEX files_of_folder ON files (folder);
    CREATE VIRTUAL TABLE words USING fts5 (
        folder, path, text, content = '', contentless_delete = 1,
        tokenize = 'porter unicode61 remove_diacritics 0'
    );
    CREATE TABLE pieces (file INTEGER NOT NULL, line INTEGER NOT NULL, hash BLOB NOT NULL);
    CREATE INDEX pieces_of_file ON pieces (file);
    CREATE TABLE vectors (hash BLOB PRIMARY KEY, vector BLOB NOT NULL) WITHOUT ROWID;
    CREATE VIRTUAL TABLE terms USING fts5vocab (words, row);
";

/// Why the index does not serve.
#[derive(Debug)]
pub(super) enum Broken {
    /// Made anew, it may.
    Damaged(String),
    /// It does not help to make it anew.
    Unusable(String),
}

impl From<rusqlite::Error> for Broken {
    fn from(error: rusqlite::Error) -> Self {
        let reason = format!("the search index: {error}");
        match error.sqlite_error_code() {
            Some(
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::SchemaChanged
                | ErrorCode::TypeMismatch
                | ErrorCode::ConstraintViolation
                | ErrorCode::Unknown,
            ) => Self::Damaged(reason),
            _ => Self::Unusable(reason),
        }
    }
}

pub(super) struct Store {
    connection: Connection,
    /// Device and inode of the file that is open.
    file: Option<(u64, u64)>,
    /// What the table of files says, so that comparing ten thousand of them needs no query.
    known: HashMap<String, HashMap<String, Known>>,
}

#[derive(Clone, Copy)]
struct Known {
    id: i64,
    stamp: Stamp,
    is_settled: bool,
}

/// Takes the files of an index away.
pub(super) fn delete(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        // Most are not there; one that cannot be deleted is met again when it is opened.
        _ = std::fs::remove_file(name);
    }
}

impl Store {
    pub(super) fn open(path: &Path) -> Result<Self, Broken> {
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder)
                .map_err(|e| Broken::Unusable(format!("{}: {e}", folder.display())))?;
        }
        let connection = Connection::open(path)?;
        connection.busy_timeout(std::time::Duration::from_secs(2))?;
        // Losing the last moments of an index costs reading some files again.
        connection.execute_batch(
            "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF; PRAGMA journal_size_limit = 16777216;",
        )?;
        let version: i64 = connection.query_row("PRAGMA user_version", [], |row| row.get(0))?;
        match version {
            VERSION => {}
            0 => {
                let is_empty: i64 =
                    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |r| r.get(0))?;
                if is_empty != 0 {
                    return Err(Broken::Damaged("the search index is half made".to_owned()));
                }
                connection
                    .execute_batch(&format!("BEGIN; {SCHEMA} PRAGMA user_version = {VERSION}; COMMIT;"))?;
            }
            other => return Err(Broken::Damaged(format!("the search index has the form {other}"))),
        }
        Ok(Self { connection, file: identity(path), known: HashMap::new() })
    }

    /// Whether the file that is open is the one that stands at `path`.
    pub(super) fn is_at(&self, path: &Path) -> bool {
        self.file.is_some() && identity(path) == self.file
    }

    /// Which files of a folder must be read; takes out those that are gone.
    pub(super) fn compare(&mut self, folder: &str, walked: &Walked) -> Result<Vec<Entry>, Broken> {
        self.load(folder)?;
        let known = self.known.entry(folder.to_owned()).or_default();
        let mut changed = Vec::new();
        let mut here_before = 0;
        for entry in &walked.entries {
            let before = known.get(&entry.path);
            here_before += usize::from(before.is_some());
            if before.is_none_or(|known| !known.is_settled || known.stamp != entry.stamp) {
                changed.push(entry.clone());
            }
        }
        // After a walk that was cut, what was not seen may still be there.
        if walked.cut.is_none() && here_before < known.len() {
            let here: std::collections::HashSet<&str> =
                walked.entries.iter().map(|e| e.path.as_str()).collect();
            let gone: Vec<(String, i64)> = known
                .iter()
                .filter(|(path, _)| !here.contains(path.as_str()))
                .map(|(path, known)| (path.clone(), known.id))
                .collect();
            if !gone.is_empty() {
                let transaction = self.connection.transaction()?;
                for (_, id) in &gone {
                    take_out(&transaction, *id)?;
                }
                transaction.commit()?;
                gone.iter().for_each(|(path, _)| _ = known.remove(path));
            }
        }
        Ok(changed)
    }

    fn load(&mut self, folder: &str) -> Result<(), Broken> {
        if self.known.contains_key(folder) {
            return Ok(());
        }
        if self.known.len() >= FOLDERS_MAX {
            self.known.clear();
        }
        let mut select = self.connection.prepare_cached(
            "SELECT f.path, f.id, f.size, f.modified, f.changed, f.inode, f.settled
             FROM files f JOIN folders d ON d.id = f.folder WHERE d.name = ?1",
        )?;
        let rows = select.query_map([folder], |row| {
            let stamp =
                Stamp { size: row.get(2)?, modified: row.get(3)?, changed: row.get(4)?, inode: row.get(5)? };
            Ok((row.get(0)?, Known { id: row.get(1)?, stamp, is_settled: row.get(6)? }))
        })?;
        let known = rows.collect::<Result<HashMap<String, Known>, _>>()?;
        self.known.insert(folder.to_owned(), known);
        Ok(())
    }

    /// Takes in what was read.
    pub(super) fn take(&mut self, folder: &str, batch: &[Taken]) -> Result<(), Broken> {
        self.load(folder)?;
        let known = self.known.entry(folder.to_owned()).or_default();
        let transaction = self.connection.transaction()?;
        transaction.execute("INSERT OR IGNORE INTO folders (name) VALUES (?1)", [folder])?;
        let folder_id: i64 =
            transaction.query_row("SELECT id FROM folders WHERE name = ?1", [folder], |row| row.get(0))?;
        let mut now = Vec::with_capacity(batch.len());
        for Taken { entry, text, is_settled } in batch {
            // Another search may have taken in the same file meanwhile.
            if let Some(old) = known.get(&entry.path) {
                take_out(&transaction, old.id)?;
            }
            let Stamp { size, modified, changed, inode } = entry.stamp;
            transaction
                .prepare_cached(
                    "INSERT INTO files (folder, path, size, modified, changed, inode, settled)
                     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
                )?
                .execute(params![folder_id, entry.path, size, modified, changed, inode, is_settled])?;
            let id = transaction.last_insert_rowid();
            if let Some(text) = text {
                let all = format!("{text}\n{}", parts_of_names(text));
                transaction
                    .prepare_cached("INSERT INTO words (rowid, folder, path, text) VALUES (?1, ?2, ?3, ?4)")?
                    .execute(params![id, format!("d{folder_id}"), entry.path, all])?;
            }
            now.push((entry.path.clone(), Known { id, stamp: entry.stamp, is_settled: *is_settled }));
        }
        transaction.commit()?;
        known.extend(now);
        Ok(())
    }

    /// Files of a folder whose pieces are not known for a model.
    pub(super) fn unpieced(
        &self,
        folder: &str,
        model: &str,
        max: usize,
    ) -> Result<Vec<(i64, String)>, Broken> {
        let mut select = self.connection.prepare_cached(
            "SELECT f.id, f.path FROM files f JOIN folders d ON d.id = f.folder
             WHERE d.name = ?1 AND f.pieced IS NOT ?2 ORDER BY f.path LIMIT ?3",
        )?;
        let rows =
            select.query_map(params![folder, model, max as i64], |row| Ok((row.get(0)?, row.get(1)?)))?;
        Ok(rows.collect::<Result<_, _>>()?)
    }

    /// Notes the pieces of a file, unless it was read anew meanwhile. Gives back those without a vector.
    pub(super) fn note_pieces(
        &mut self,
        (id, path): &(i64, String),
        model: &str,
        pieces: Vec<Piece>,
    ) -> Result<Vec<Piece>, Broken> {
        let transaction = self.connection.transaction()?;
        let mut missing = Vec::new();
        for piece in pieces {
            let known: Option<i64> = transaction
                .prepare_cached("SELECT 1 FROM vectors WHERE hash = ?1")?
                .query_row([&piece.hash], |row| row.get(0))
                .optional()?;
            transaction
                .prepare_cached("INSERT INTO pieces (file, line, hash) VALUES (?1, ?2, ?3)")?
                .execute(params![id, piece.line as i64, piece.hash])?;
            if known.is_none() {
                missing.push(piece);
            }
        }
        // Done only when every piece has its vector; until then the file is taken up again.
        if missing.is_empty() {
            transaction.execute(
                "UPDATE files SET pieced = ?3 WHERE id = ?1 AND path = ?2",
                params![id, path, model],
            )?;
            transaction.commit()?;
        }
        Ok(missing)
    }

    /// Keeps vectors.
    pub(super) fn keep(&mut self, vectors: &[(Vec<u8>, Vec<f32>)]) -> Result<(), Broken> {
        let transaction = self.connection.transaction()?;
        for (hash, vector) in vectors {
            transaction
                .prepare_cached("INSERT OR REPLACE INTO vectors (hash, vector) VALUES (?1, ?2)")?
                .execute(params![hash, meaning::pack(vector)])?;
        }
        let count: i64 = transaction.query_row("SELECT count(*) FROM vectors", [], |row| row.get(0))?;
        if count > VECTORS_MAX {
            transaction.execute("DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM pieces)", [])?;
        }
        transaction.commit()?;
        Ok(())
    }

    /// The files with the nearest pieces, each with the line where that piece begins.
    pub(super) fn nearest(
        &self,
        scopes: &[Scope],
        model: &str,
        wanted: &[f32],
        files_max: usize,
    ) -> Result<Vec<(String, usize)>, Broken> {
        let mut best: HashMap<String, (f32, usize)> = HashMap::new();
        let mut select = self.connection.prepare_cached(
            "SELECT f.path, p.line, v.vector FROM folders d JOIN files f ON f.folder = d.id
             JOIN pieces p ON p.file = f.id JOIN vectors v ON v.hash = p.hash
             WHERE d.name = ?1 AND f.pieced = ?2",
        )?;
        for scope in scopes {
            let mut rows = select.query(params![scope.folder, model])?;
            while let Some(row) = rows.next()? {
                let near = meaning::nearness(row.get_ref(2)?.as_blob().unwrap_or_default(), wanted);
                let path = row.get_ref(0)?.as_str().unwrap_or_default();
                if !scope.has(path) || best.get(path).is_some_and(|(known, _)| *known >= near) {
                    continue;
                }
                let line = usize::try_from(row.get::<_, i64>(1)?).unwrap_or(1);
                best.insert(path.to_owned(), (near, line));
            }
        }
        let mut files: Vec<(f32, String, usize)> =
            best.into_iter().map(|(path, (near, line))| (near, path, line)).collect();
        files.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        // What points elsewhere has nothing to do with it.
        files.retain(|(near, ..)| *near > 0.0);
        files.truncate(files_max);
        Ok(files.into_iter().map(|(_, path, line)| (path, line)).collect())
    }

    /// The best files, those with every word and phrase first.
    pub(super) fn search(
        &self,
        scopes: &[Scope],
        query: &Query,
        files_max: usize,
    ) -> Result<Vec<String>, Broken> {
        let mut folders = Vec::new();
        for scope in scopes {
            let found: Option<i64> = self
                .connection
                .prepare_cached("SELECT id FROM folders WHERE name = ?1")?
                .query_row([&scope.folder], |row| row.get(0))
                .optional()?;
            folders.extend(found.map(|id| format!("\"d{id}\"")));
        }
        if folders.is_empty() {
            return Ok(Vec::new());
        }
        let all: i64 = self
            .connection
            .prepare_cached("SELECT count(*) FROM folders")?
            .query_row([], |row| row.get(0))?;
        // If nothing lies elsewhere, every file is within, and asking each whether it is takes longer than the rest.
        let within = match i64::try_from(folders.len()) {
            Ok(asked) if asked == all => String::new(),
            _ => format!("folder : ({}) AND ", folders.join(" OR ")),
        };
        let mut files = Vec::new();
        self.add(&within, &query.expression(Need::All), scopes, files_max, &mut files)?;
        // With one word, having some is having all.
        if files.len() < files_max && query.count() > 1 {
            let rare = self.rare(&within, query)?;
            if rare.count() > 0 {
                self.add(&within, &rare.expression(Need::Some), scopes, files_max, &mut files)?;
            }
        }
        if files.is_empty() {
            self.add(&within, &query.expression(Need::Beginning), scopes, files_max, &mut files)?;
        }
        if files.is_empty() {
            let terms = self.terms_with(query)?;
            if !terms.is_empty() {
                self.add(&within, &format!("({})", terms.join(" OR ")), scopes, files_max, &mut files)?;
            }
        }
        Ok(files)
    }

    /// The words and phrases that tell files apart. One that half of the files have says nothing about any of them,
    /// and ranking them all by it takes long; if there is no other, the rarest counts.
    fn rare(&self, within: &str, query: &Query) -> Result<Query, Broken> {
        let mut select = self
            .connection
            .prepare_cached("SELECT count(*) FROM (SELECT rowid FROM words WHERE words MATCH ?1 LIMIT ?2)")?;
        let mut counts = Vec::with_capacity(query.count());
        for piece in query.each() {
            let wanted = format!("{within}{{path text}} : {}", piece.expression(Need::All));
            let count: i64 = select.query_row(params![wanted, COMMON + 1], |row| row.get(0))?;
            counts.push(count);
        }
        let least = counts.iter().copied().filter(|count| *count > 0).min().unwrap_or(0);
        Ok(query.only(|n| counts[n] > 0 && (counts[n] <= COMMON || counts[n] == least && least > COMMON)))
    }

    fn add(
        &self,
        within: &str,
        expression: &str,
        scopes: &[Scope],
        files_max: usize,
        files: &mut Vec<String>,
    ) -> Result<(), Broken> {
        let wanted = format!("{within}{{path text}} : {expression}");
        let mut select = self.connection.prepare_cached(
            "SELECT f.path FROM words JOIN files f ON f.id = words.rowid
             WHERE words MATCH ?1 AND rank MATCH ?2 ORDER BY rank",
        )?;
        let mut rows = select.query(params![wanted, RANK])?;
        while files.len() < files_max {
            let Some(row) = rows.next()? else { break };
            let path: String = row.get(0)?;
            // Scopes with a part are alone: a path was named.
            if scopes.iter().any(|scope| scope.has(&path)) && !files.contains(&path) {
                files.push(path);
            }
        }
        Ok(())
    }

    /// Words of the index that contain a word of the query, for when there is nothing better.
    fn terms_with(&self, query: &Query) -> Result<Vec<String>, Broken> {
        let mut terms = Vec::new();
        let mut select =
            self.connection.prepare_cached("SELECT term FROM terms WHERE instr(term, ?1) > 0 LIMIT ?2")?;
        for word in query.pieces().iter().flatten().filter(|word| word.chars().count() > 1) {
            let left = INSIDE_MAX.saturating_sub(terms.len());
            let rows = select.query_map(params![word, left as i64], |row| row.get::<_, String>(0))?;
            for term in rows {
                terms.push(format!("\"{}\"", term?.replace('"', "\"\"")));
            }
        }
        Ok(terms)
    }
}

fn take_out(connection: &Connection, id: i64) -> rusqlite::Result<()> {
    connection.prepare_cached("DELETE FROM files WHERE id = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM words WHERE rowid = ?1")?.execute([id])?;
    connection.prepare_cached("DELETE FROM pieces WHERE file = ?1")?.execute([id])?;
    Ok(())
}

fn identity(path: &Path) -> Option<(u64, u64)> {
    std::fs::metadata(path).ok().map(|meta| (meta.dev(), meta.ino()))
}
