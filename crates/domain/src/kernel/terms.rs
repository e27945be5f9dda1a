//! What work keeps when the owner's files change: it goes on as it began, but what was taken away is gone at once.

use std::collections::BTreeSet;

use crate::kernel::state::State;
use crate::topics::agent;
use crate::topics::role::Role;
use crate::topics::session::Session;
use crate::topics::settings::{Limits, ModelRef, Settings};
use crate::words::id::SessionId;

/// What an agent may do: its file, and its role if there is such a role.
pub type Rights<'a> = (&'a agent::Spec, Option<&'a Role>);

impl State {
    /// What a session's agent was when the session began: a change of its file is for what begins after it.
    pub fn spec_of(&self, session: &Session) -> Option<&agent::Spec> {
        let agent = self.team.agents.get(&session.agent)?;
        Some(agent.past.get(&session.began.version).unwrap_or(&agent.spec))
    }

    /// What a session's agent may do now, if that is not what it could when the session began.
    pub fn rights_now(&self, session: &Session) -> Option<Rights<'_>> {
        let agent = self.team.agents.get(&session.agent)?;
        let (now, terms) = (&agent.spec, self.config.terms.get(&session.began.edition));
        let past = agent.past.get(&session.began.version);
        if past.is_none() && terms.is_none() {
            return None;
        }
        let (then, role) = (past.unwrap_or(now), self.role(&now.role));
        (then != now || self.terms(session).role(&then.role) != role).then_some((now, role))
    }

    /// The settings that a session goes by: what work keeps is as it was when the session began.
    pub fn terms(&self, session: &Session) -> &Settings {
        self.config.terms.get(&session.began.edition).unwrap_or(&self.config.settings)
    }

    /// The same by its id.
    pub fn terms_of(&self, session: &SessionId) -> &Settings {
        self.sessions.get(session).map_or(&self.config.settings, |session| self.terms(session))
    }

    /// What has begun goes on under its terms, which are forgotten when nothing does.
    pub(crate) fn keep_terms(&mut self, now: &Settings) {
        let begun = self.team.agents.values().flat_map(|agent| &agent.sessions);
        let used: BTreeSet<u32> =
            begun.filter_map(|id| self.sessions.get(id)).map(|session| session.began.edition).collect();
        self.config.terms.retain(|edition, _| used.contains(edition));
        for terms in self.config.terms.values_mut() {
            *terms = terms.kept(now);
        }
        let terms = self.config.settings.kept(now);
        // What was found in the files before any settings were read has no terms of its own.
        let are_terms = self.config.settings != Settings::default() && terms != *now;
        if used.contains(&self.config.edition) && are_terms {
            self.config.terms.insert(self.config.edition, terms);
            self.config.edition += 1;
        }
    }
}

impl Settings {
    /// What work goes by that began under these settings, now that they are `now`. What its role was and how its conversation
    /// is shortened stay as they were. What an alias stands for is looked up at each call, so that a corrected one frees work
    /// that is stuck; only an alias that is gone keeps its meaning. A bound on it that was lowered holds at once, and so does
    /// all that others share with it or that keeps it in check: accounts, prices, budgets, slots, queues, locks, approvals,
    /// reviews, trust. (What a role no longer has is taken by the gate, which looks at both.)
    #[must_use]
    pub fn kept(&self, now: &Self) -> Self {
        let mut models = now.models.clone();
        let is_gone = |alias: &String, target: &ModelRef| {
            !now.models.contains_key(alias) && now.providers.contains_key(&target.provider)
        };
        let gone = self.models.iter().filter(|(alias, target)| is_gone(alias, target));
        models.extend(gone.map(|(alias, target)| (alias.clone(), target.clone())));
        Self {
            models,
            roles: self.roles.clone(),
            context: self.context.clone(),
            limits: self.limits.kept(&now.limits),
            ..now.clone()
        }
    }
}

impl Limits {
    /// The bounds of work that began under these, now that they are `now`.
    fn kept(&self, now: &Self) -> Self {
        Self {
            turns_max: self.turns_max.min(now.turns_max),
            request_turns_max: self.request_turns_max.min(now.request_turns_max),
            calls_max: self.calls_max.min(now.calls_max),
            same_call_max: self.same_call_max.min(now.same_call_max),
            model_attempts_max: self.model_attempts_max.min(now.model_attempts_max),
            model_ms_max: self.model_ms_max.min(now.model_ms_max),
            tool_ms_max: self.tool_ms_max.min(now.tool_ms_max),
            output_bytes_max: self.output_bytes_max.min(now.output_bytes_max),
            // Shared by all.
            ..now.clone()
        }
    }
}
