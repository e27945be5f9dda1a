//! What models used and what it cost, as the journal knows it; without a journal, as the list `log/usage.jsonl` has it.

use std::collections::BTreeMap;
use std::path::Path;

use adapters::journal::Sqlite;
use domain::id::{AgentId, SessionId};
use domain::layout;
use domain::state::State;
use domain::table::Table;
use domain::usage::{ByModel, Spent};
use engine::Engine;
use formats::usage;
use serde_json::{Value, json};

/// All that was spent in a home.
#[derive(Default)]
pub struct Spending {
    by_agent: Table<AgentId, ByModel>,
    by_session: BTreeMap<SessionId, Spent>,
}

impl Spending {
    /// Reads the journal, also while another process works in the home.
    pub fn read(home: &Path) -> Self {
        Self::of(&known(home))
    }

    /// What a state says.
    pub fn of(state: &State) -> Self {
        let sessions = state.sessions.iter().filter(|(_, session)| !session.purse.spent.is_nothing());
        let known = sessions.map(|(id, session)| (id, session.purse.spent));
        let unknown = state.ledger.unclaimed().iter().map(|(id, spent)| (id, *spent));
        Self {
            by_agent: state.team.spent.clone(),
            by_session: known.chain(unknown).map(|(id, spent)| (id.clone(), spent)).collect(),
        }
    }

    /// By everybody together.
    pub fn total(&self) -> Spent {
        Spent::sum(self.by_agent.values().flat_map(ByModel::values))
    }

    /// By one agent, for each model.
    pub fn agent(&self, id: &AgentId) -> Option<&ByModel> {
        self.by_agent.get(id)
    }

    /// In one session.
    pub fn session(&self, id: &SessionId) -> Spent {
        self.by_session.get(id).copied().unwrap_or_default()
    }
}

/// What the journal says; without one, what the list says that was spent.
pub fn known(home: &Path) -> State {
    let path = home.join(layout::JOURNAL);
    let journal = path.exists().then(|| Sqlite::open_read_only(&path).ok()).flatten();
    let engine = journal.and_then(|journal| Engine::open(Box::new(journal)).ok());
    let mut state = engine.map_or_else(State::new, |engine| engine.state().clone());
    if state.ledger.is_unused()
        && let Ok(list) = std::fs::read(home.join(usage::PATH))
    {
        let (entries, _) = usage::read(&String::from_utf8_lossy(&list));
        let found = adapters::files::usage_found(entries);
        // Costs that cannot be taken over leave the state as it is.
        _ = domain::play(&mut state, super::now(), &found, false, &mut |_, _| {});
    }
    state
}

/// For people: `12 replies, 4500 tokens in (1200 from the cache), 800 out, cost 0.0123`.
pub fn line(spent: &Spent) -> String {
    let usage = &spent.usage;
    let replies = usize::try_from(spent.replies).unwrap_or(usize::MAX);
    let replies = match replies {
        1 => "1 reply".to_owned(),
        n => format!("{n} replies"),
    };
    let cached = match usage.cache_read {
        0 => String::new(),
        n => format!(" ({n} from the cache)"),
    };
    let (tokens_in, tokens_out) = (usage.tokens_in, usage.tokens_out);
    format!("{replies}, {tokens_in} tokens in{cached}, {tokens_out} out, cost {}", spent.money())
}

/// For programs. `cost` is null when nothing of it has a price; `unpriced` counts the replies without one.
pub fn json(spent: &Spent) -> Value {
    let known = spent.replies == 0 || spent.unpriced < spent.replies;
    let cost = known.then(|| domain::usage::money(spent.cost));
    json!({
        "replies": spent.replies,
        "tokens_in": spent.usage.tokens_in,
        "tokens_out": spent.usage.tokens_out,
        "cache_read": spent.usage.cache_read,
        "cache_write": spent.usage.cache_write,
        "reasoning": spent.usage.reasoning,
        "cost": cost,
        "unpriced": spent.unpriced,
    })
}
