//! What a person is asked on the screen, one question after the other, and what they type.

use std::collections::VecDeque;

use domain::approval::{Answer, Request};
use domain::id::ApprovalId;
use domain::tool::{Act, ExecuteCommand};

use super::keys::Key;

/// The longest text that is taken.
const INPUT_CHARS_MAX: usize = 2_000;

/// Questions that wait, the first of them on the screen.
#[derive(Debug, Default)]
pub struct Questions {
    waiting: VecDeque<Request>,
    typed: String,
    mode: Mode,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
enum Mode {
    /// A letter is wanted.
    #[default]
    Choose,
    /// A text is wanted: what to do instead.
    Instead,
    /// It was answered, and is not decided yet.
    Answered,
}

/// What a person wants.
#[derive(Debug, Clone, PartialEq)]
pub enum Wish {
    /// This is the answer.
    Answer(Box<Request>, Answer),
    /// This command may run from now on, and so may this call.
    Always(Box<Request>, String),
    /// All of it.
    Details(Box<Request>),
    /// It was not understood.
    Nonsense(String),
}

impl Questions {
    /// One more question; whether it is the one to show.
    pub fn ask(&mut self, request: Request) -> bool {
        if self.waiting.iter().any(|known| known.id == request.id) {
            return false;
        }
        self.waiting.push_back(request);
        self.waiting.len() == 1
    }

    /// It was decided, by whomever. Gives the text that was typed for it and is of no use any more.
    pub fn ended(&mut self, approval: &ApprovalId) -> Option<String> {
        let is_first = self.waiting.front().is_some_and(|first| first.id == *approval);
        self.waiting.retain(|request| request.id != *approval);
        if !is_first {
            return None;
        }
        let is_open = self.mode != Mode::Answered;
        self.mode = Mode::Choose;
        let typed = std::mem::take(&mut self.typed);
        (is_open && !typed.is_empty()).then_some(typed)
    }

    /// The answer was not taken: it is asked again.
    pub fn again(&mut self) {
        self.mode = Mode::Choose;
        self.typed.clear();
    }

    /// The question to show.
    pub fn first(&self) -> Option<&Request> {
        self.waiting.front()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// The line in which a person types.
    pub fn prompt(&self, columns: usize) -> Option<String> {
        let request = self.first()?;
        let always = command_of(&request.act).is_some();
        let id = &request.id;
        let head = match self.mode {
            Mode::Answered => return Some(format!("{id}: answered, not carried out yet")),
            Mode::Instead => format!("{id}: what instead? (Esc: back) "),
            Mode::Choose if columns < 72 => format!("{id} y/n/e/{}d? ", if always { "a/" } else { "" }),
            Mode::Choose => {
                let always = if always { " / a(lways allow this)" } else { "" };
                format!("{id}: y(es) / n(o) / e(dit){always} / d(etails)? ")
            }
        };
        let room = columns.saturating_sub(head.chars().count() + 2).max(4);
        let typed: Vec<char> = self.typed.chars().collect();
        let shown: String = typed[typed.len().saturating_sub(room)..].iter().collect();
        Some(format!("{head}{shown}"))
    }

    /// A key was pressed.
    pub fn press(&mut self, key: Key) -> Option<Wish> {
        let request = self.waiting.front()?;
        match (key, self.mode) {
            (_, Mode::Answered) => None,
            (Key::Char(letter), Mode::Choose | Mode::Instead) => {
                if self.typed.chars().count() < INPUT_CHARS_MAX {
                    self.typed.push(letter);
                }
                None
            }
            (Key::Backspace, Mode::Choose | Mode::Instead) => {
                self.typed.pop();
                None
            }
            (Key::Clear, Mode::Choose | Mode::Instead) => {
                self.typed.clear();
                None
            }
            (Key::Escape, Mode::Choose | Mode::Instead) => {
                self.again();
                None
            }
            (Key::Enter, Mode::Instead) => {
                let text = std::mem::take(&mut self.typed);
                if text.trim().is_empty() {
                    self.mode = Mode::Choose;
                    return None;
                }
                self.mode = Mode::Answered;
                let reason = format!("do this instead: {}", text.trim());
                Some(Wish::Answer(Box::new(request.clone()), Answer::Rejected { reason }))
            }
            (Key::Enter, Mode::Choose) => {
                let typed = std::mem::take(&mut self.typed);
                let request = Box::new(request.clone());
                let (mode, wish) = match typed.trim().to_lowercase().as_str() {
                    "y" | "yes" => (Mode::Answered, Some(Wish::Answer(request, Answer::Approved))),
                    "n" | "no" => {
                        let answer = Answer::Rejected { reason: String::new() };
                        (Mode::Answered, Some(Wish::Answer(request, answer)))
                    }
                    "e" | "edit" => (Mode::Instead, None),
                    "d" | "details" => (Mode::Choose, Some(Wish::Details(request))),
                    "a" | "always" => match command_of(&request.act).map(str::to_owned) {
                        Some(command) => (Mode::Answered, Some(Wish::Always(request, command))),
                        None => {
                            let why = "only a command can be allowed for good; y allows this once";
                            (Mode::Choose, Some(Wish::Nonsense(why.to_owned())))
                        }
                    },
                    "" => (Mode::Choose, None),
                    other => {
                        let why = format!("{other:?} is no answer: y, n, e, d, or a for a command");
                        (Mode::Choose, Some(Wish::Nonsense(why)))
                    }
                };
                self.mode = mode;
                wish
            }
        }
    }
}

/// The command of an act that a rule of the policy can allow.
fn command_of(act: &Act) -> Option<&str> {
    match act {
        Act::ExecuteCommand(ExecuteCommand { command }) => Some(command),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use domain::id::{AgentId, CallId, SessionId, Time};
    use domain::tool::Permit;
    use policy::Risk;

    use super::*;

    fn request(id: &str, act: Act) -> Request {
        Request {
            id: ApprovalId::new(id),
            agent: AgentId::new("a-1"),
            session: SessionId::new("a-1-aaaaaa"),
            call: CallId::new("c"),
            task: None,
            act,
            seen: None,
            permit: Permit::NONE,
            digest: String::new(),
            why: String::new(),
            risk: Risk::Low,
            factors: Vec::new(),
            label: Default::default(),
            chain: Vec::new(),
            escalates: None,
            created: Time(0),
            expires: None,
        }
    }

    fn command(id: &str) -> Request {
        request(id, Act::ExecuteCommand(ExecuteCommand { command: "df -h".to_owned() }))
    }

    fn asked(requests: &[Request]) -> Questions {
        let mut questions = Questions::default();
        requests.iter().for_each(|request| _ = questions.ask(request.clone()));
        questions
    }

    fn types(questions: &mut Questions, text: &str) -> Option<Wish> {
        let keys = text.chars().map(|c| if c == '\n' { Key::Enter } else { Key::Char(c) });
        keys.filter_map(|key| questions.press(key)).last()
    }

    #[test]
    fn yes_and_no_answer_the_question_that_is_shown() {
        let mut questions = asked(&[command("approval-0001"), command("approval-0002")]);
        let first = Box::new(command("approval-0001"));
        assert_eq!(types(&mut questions, "Y\n"), Some(Wish::Answer(first, Answer::Approved)));
        assert_eq!(types(&mut questions, "n\n"), None, "it is answered");
        assert_eq!(questions.ended(&ApprovalId::new("approval-0001")), None);
        let second = Box::new(command("approval-0002"));
        let no = Answer::Rejected { reason: String::new() };
        assert_eq!(types(&mut questions, "no\n"), Some(Wish::Answer(second, no)));
    }

    #[test]
    fn nonsense_is_no_answer() {
        let mut questions = asked(&[command("approval-0001")]);
        assert_eq!(types(&mut questions, "\n"), None);
        assert!(matches!(types(&mut questions, "yy\n"), Some(Wish::Nonsense(_))));
        assert_eq!(questions.prompt(80).unwrap().split(": ").next(), Some("approval-0001"), "asked again");
    }

    #[test]
    fn a_text_rejects_and_says_what_to_do_instead() {
        let mut questions = asked(&[command("approval-0001")]);
        assert_eq!(types(&mut questions, "e\n"), None);
        assert!(questions.prompt(80).unwrap().contains("what instead?"));
        let reason = "do this instead: use du".to_owned();
        let wish = Wish::Answer(Box::new(command("approval-0001")), Answer::Rejected { reason });
        assert_eq!(types(&mut questions, "use du\n"), Some(wish));
    }

    #[test]
    fn only_a_command_is_allowed_for_good() {
        let mut questions = asked(&[command("approval-0001")]);
        let always = Wish::Always(Box::new(command("approval-0001")), "df -h".to_owned());
        assert_eq!(types(&mut questions, "a\n"), Some(always));
        let mut questions = asked(&[request("approval-0001", Act::read_file("a".to_owned()))]);
        assert!(!questions.prompt(80).unwrap().contains("always"));
        assert!(matches!(types(&mut questions, "a\n"), Some(Wish::Nonsense(_))));
    }

    #[test]
    fn what_was_typed_for_a_question_that_another_decided_is_not_used_for_the_next() {
        let mut questions = asked(&[command("approval-0001"), command("approval-0002")]);
        assert_eq!(types(&mut questions, "y"), None);
        assert_eq!(questions.ended(&ApprovalId::new("approval-0001")), Some("y".to_owned()));
        assert_eq!(types(&mut questions, "\n"), None);
        assert_eq!(questions.first().map(|first| first.id.as_str()), Some("approval-0002"));
    }

    #[test]
    fn the_prompt_fits_every_terminal() {
        let mut questions = asked(&[command("approval-0001")]);
        types(&mut questions, &"long ".repeat(60));
        for columns in [40, 80, 200] {
            let prompt = questions.prompt(columns).unwrap();
            assert!(prompt.chars().count() < columns, "{columns}: {prompt}");
        }
    }
}
