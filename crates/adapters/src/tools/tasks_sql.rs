//! Real SQL over all task files. They are read into a database in memory for each question; the question may
//! only look.

use std::fmt;
use std::io::Read;
use std::path::Path;

use domain::id::TaskId;
use domain::layout;
use formats::task::{TaskFile, TaskItem};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, ErrorCode, params};
use rustix::fs::Dir;

use super::files::Answer;
use crate::beneath::{PathRefused, Root};
use crate::text;
use crate::until::Until;

/// How long a question may take, whatever the order allows.
const QUERY_MS_MAX: u64 = 3_000;
/// So many rows are given.
const ROWS_MAX: usize = 1_000;
/// No text in a question or its answer is longer.
const VALUE_BYTES_MAX: i32 = 1 << 20;
/// Larger task files are not read.
const FILE_BYTES_MAX: u64 = 16 << 20;
/// How often the time is looked at, in steps of SQLite's machine.
const STEPS_BETWEEN_LOOKS: i32 = 1_000;

const TABLES: &str = "
    CREATE TABLE tasks (
        id TEXT, file TEXT, line INTEGER, title TEXT, mark TEXT, priority TEXT, assignee TEXT, tag TEXT, tags TEXT,
        parent TEXT, depends_on TEXT, text TEXT, result TEXT, approval_required INTEGER
    );
    CREATE TABLE properties (task TEXT, key TEXT, value TEXT);
    CREATE TABLE depends (task TEXT, on_task TEXT);
";

/// What a question gave.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
pub struct Table {
    /// Their names, as the question has them.
    pub columns: Vec<String>,
    /// Each as long as `columns`.
    pub rows: Vec<Vec<Cell>>,
    /// There were more than 1000 rows.
    pub is_cut: bool,
}

/// One value.
#[derive(Debug, Clone, PartialEq, serde::Serialize)]
#[serde(untagged)]
pub enum Cell {
    /// Nothing.
    Null,
    /// A whole number.
    Integer(i64),
    /// Another number.
    Real(f64),
    /// A text; bytes are shown as text too.
    Text(String),
}

impl fmt::Display for Cell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => Ok(()),
            Self::Integer(number) => write!(f, "{number}"),
            Self::Real(number) => write!(f, "{number}"),
            Self::Text(text) => f.write_str(text),
        }
    }
}

/// Why a question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueryError {
    /// It would do more than look.
    #[error("only one SELECT is allowed: {reason}")]
    NotASelect {
        /// What it would do.
        reason: String,
    },
    /// It is no SQL, or names what is not there.
    #[error("the SQL does not work: {reason}")]
    Sql {
        /// In SQLite's words.
        reason: String,
    },
    /// It took too long.
    #[error("the SQL takes longer than the {QUERY_MS_MAX} ms, or the rest of them, that it has")]
    TooLong,
    /// The task files cannot be read.
    #[error("the task files cannot be read: {reason}")]
    Files {
        /// Which, and why.
        reason: String,
    },
}

/// Asks the task files of a home. Blocks.
pub fn query(home: &Path, sql: &str) -> Result<Table, QueryError> {
    let root =
        Root::open(home).map_err(|e| QueryError::Files { reason: format!("{}: {e}", home.display()) })?;
    ask(&root, sql, &Until::ms(QUERY_MS_MAX))
}

/// The answer as an agent sees it.
pub(super) fn answer(root: &Root, sql: &str, bytes_max: u64, until: &Until) -> Answer {
    let table = ask(root, sql, until).map_err(|e| e.to_string())?;
    Ok(text::head(print(&table), bytes_max))
}

fn ask(root: &Root, sql: &str, until: &Until) -> Result<Table, QueryError> {
    let mut db = Connection::open_in_memory().map_err(|e| sql_error(&e))?;
    fill(&mut db, root)?;
    guard(&mut db, until).map_err(|e| sql_error(&e))?;
    select(&db, sql)
}

/// From here on the database only answers, and not for long.
fn guard(db: &mut Connection, until: &Until) -> rusqlite::Result<()> {
    db.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    db.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    db.pragma_update(None, "query_only", true)?;
    let (own, given) = (Until::ms(QUERY_MS_MAX), until.clone());
    db.progress_handler(STEPS_BETWEEN_LOOKS, Some(move || own.is_over() || given.is_over()))?;
    db.authorizer(Some(|context: AuthContext<'_>| match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => Authorization::Allow,
        AuthAction::Function { function_name } if function_name != "load_extension" => Authorization::Allow,
        _ => Authorization::Deny,
    }))
}

fn select(db: &Connection, sql: &str) -> Result<Table, QueryError> {
    let mut statement = db.prepare(sql).map_err(|e| sql_error(&e))?;
    if !statement.readonly() || statement.column_count() == 0 {
        return Err(QueryError::NotASelect { reason: "it gives no rows".to_owned() });
    }
    let columns: Vec<String> = statement.column_names().map(str::to_owned).collect();
    let mut table = Table { columns, rows: Vec::new(), is_cut: false };
    let mut rows = statement.query([]).map_err(|e| sql_error(&e))?;
    while let Some(row) = rows.next().map_err(|e| sql_error(&e))? {
        if table.rows.len() == ROWS_MAX {
            table.is_cut = true;
            break;
        }
        let cells: rusqlite::Result<Vec<Cell>> =
            (0..table.columns.len()).map(|column| row.get_ref(column).map(cell)).collect();
        table.rows.push(cells.map_err(|e| sql_error(&e))?);
    }
    Ok(table)
}

fn cell(value: ValueRef<'_>) -> Cell {
    match value {
        ValueRef::Null => Cell::Null,
        ValueRef::Integer(number) => Cell::Integer(number),
        ValueRef::Real(number) => Cell::Real(number),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => {
            Cell::Text(String::from_utf8_lossy(bytes).into_owned())
        }
    }
}

fn sql_error(error: &rusqlite::Error) -> QueryError {
    let (code, reason) = match error {
        rusqlite::Error::MultipleStatement => {
            return QueryError::NotASelect { reason: "there is more than one statement".to_owned() };
        }
        rusqlite::Error::SqlInputError { error, msg, .. } => (Some(error.code), msg.clone()),
        rusqlite::Error::SqliteFailure(failure, Some(message)) => (Some(failure.code), message.clone()),
        other => (other.sqlite_error_code(), other.to_string()),
    };
    match code {
        Some(ErrorCode::AuthorizationForStatementDenied | ErrorCode::ReadOnly) => {
            QueryError::NotASelect { reason }
        }
        Some(ErrorCode::OperationInterrupted) => QueryError::TooLong,
        Some(_) | None => QueryError::Sql { reason },
    }
}

fn fill(db: &mut Connection, root: &Root) -> Result<(), QueryError> {
    db.execute_batch(TABLES).map_err(|e| sql_error(&e))?;
    let tx = db.transaction().map_err(|e| sql_error(&e))?;
    for path in task_files(root)? {
        let failed = |e: &dyn fmt::Display| QueryError::Files { reason: format!("{path}: {e}") };
        let (file, size) = root.file(&path).map_err(|e| failed(&e))?;
        if size > FILE_BYTES_MAX {
            return Err(failed(&format!("it has {size} bytes, at most {FILE_BYTES_MAX} are read")));
        }
        let mut source = String::new();
        file.take(FILE_BYTES_MAX).read_to_string(&mut source).map_err(|e| failed(&e))?;
        // What is wrong in it is told elsewhere; the tasks that can be read are answered from.
        let (parsed, _) = TaskFile::parse(&path, &source);
        for (index, item) in parsed.tasks().iter().enumerate() {
            insert(&tx, &parsed, index, item).map_err(|e| sql_error(&e))?;
        }
    }
    tx.commit().map_err(|e| sql_error(&e))
}

fn task_files(root: &Root) -> Result<Vec<String>, QueryError> {
    let failed = |reason: String| QueryError::Files { reason };
    let folder = match root.folder(layout::TASKS) {
        Ok(found) => found.fd,
        Err(PathRefused::Absent { .. }) => return Ok(Vec::new()),
        Err(refused) => return Err(failed(refused.to_string())),
    };
    let mut paths = Vec::new();
    for entry in Dir::read_from(&folder).map_err(|e| failed(e.to_string()))? {
        let entry = entry.map_err(|e| failed(e.to_string()))?;
        let name = entry.file_name().to_string_lossy();
        // Approvals are written like tasks and are none.
        if name.ends_with(layout::TASK_END) && name != "approvals.task.md" {
            paths.push(layout::task_file(&name));
        }
    }
    paths.sort_unstable();
    Ok(paths)
}

fn insert(db: &Connection, file: &TaskFile, index: usize, item: &TaskItem) -> rusqlite::Result<()> {
    // A task without an id is shown without one; nothing can refer to it.
    let id = item.id.as_ref().map(TaskId::as_str);
    let Some(spec) = file.spec(index, TaskId::new("")) else { return Ok(()) };
    let depends_on: Vec<&str> = spec.depends_on.iter().map(TaskId::as_str).collect();
    db.prepare_cached("INSERT INTO tasks VALUES (?1,?2,?3,?4,?5,?6,?7,?8,?9,?10,?11,?12,?13,?14)")?.execute(
        params![
            id,
            spec.file,
            i64::try_from(item.line).unwrap_or(i64::MAX),
            spec.title,
            item.mark.as_str(),
            spec.priority.map(|p| p.letter().to_string()),
            spec.assignee.as_ref().map(|a| a.as_str()),
            spec.tag,
            joined(&spec.tags),
            spec.parent.as_ref().map(TaskId::as_str),
            joined(&depends_on),
            Some(&spec.text).filter(|text| !text.is_empty()),
            item.property("result"),
            spec.approval_required,
        ],
    )?;
    for on in depends_on {
        db.prepare_cached("INSERT INTO depends VALUES (?1, ?2)")?.execute(params![id, on])?;
    }
    for (key, value) in &item.properties {
        db.prepare_cached("INSERT INTO properties VALUES (?1, ?2, ?3)")?.execute(params![id, key, value])?;
    }
    Ok(())
}

fn joined<T: AsRef<str>>(words: &[T]) -> Option<String> {
    let words: Vec<&str> = words.iter().map(AsRef::as_ref).collect();
    (!words.is_empty()).then(|| words.join(", "))
}

/// The table as lines, with `|` between columns.
fn print(table: &Table) -> String {
    let mut lines = vec![table.columns.join(" | ")];
    for row in &table.rows {
        let cells: Vec<String> = row.iter().map(|cell| cell.to_string().replace('\n', "\\n")).collect();
        lines.push(cells.join(" | "));
    }
    lines.push(match (table.rows.len(), table.is_cut) {
        (1, _) => "[1 row]".to_owned(),
        (n, false) => format!("[{n} rows]"),
        (n, true) => format!("[cut: the first {n} rows]"),
    });
    lines.join("\n")
}
