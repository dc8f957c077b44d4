//! What the commands do: each is a door of the session or a lever over the journal.
//!
//! Invariant: nothing is decided here that another verb decides otherwise; what a command says goes to
//! standard error. Called by the loop of `chat`.

use std::path::{Path, PathBuf};

use epitome::model::ModelSpec;
use epitome::types::{Actor, GoalAction, GoalChange, Goals};
use epitome::{
    ChatSession, ExportFormat, PromptLimit, RecallResult, RecalledPassage, SessionGoals, for_model,
};

use super::command::{self, ChatCommand};
use super::failure::{ChatFailure, fault_of};
use super::{Chat, seen, spoken};
use crate::bar::BeforeAfterBar;
use crate::catch_up::catch_up;
use crate::fault::CliError;
use crate::recall::head;
use crate::text::{clipped, counted, grouped, on_one_line, plain};
use crate::{files, goal, report, settings, status};

/// Cells of a bar.
const BAR: usize = 40;
/// So many of the last messages are listed.
const LISTED: u32 = 10;
/// Cells of a message that is listed.
const CELLS: usize = 60;
/// Tokens of what is recalled.
const RECALLED: u64 = 1000;

/// Who is asked for `deactivate_augments`.
const TOOL: &str = "chat";
/// What a session is called that has no name yet.
const NEW: &str = "(new)";

/// The model that is talked with, and how large a prompt it takes.
pub(super) fn addressee(talk: &ChatSession) -> String {
    let (PromptLimit { limit, source }, model) = (talk.window(), talk.client().endpoint());
    format!("{}, {} tokens, {source}", model.spec, grouped(limit))
}

impl Chat {
    /// Does what a command says. Gives whether the conversation goes on.
    pub(super) async fn perform(
        &mut self,
        errand: ChatCommand,
        rest: &str,
    ) -> Result<bool, CliError> {
        let said = match errand {
            ChatCommand::Quit => return Ok(false),
            ChatCommand::Help => command::help(),
            ChatCommand::Compress => {
                self.compress().await?;
                return Ok(true);
            }
            ChatCommand::Model => self.model(rest).await?,
            ChatCommand::Context => self.context()?,
            ChatCommand::Status => self.status()?,
            ChatCommand::Undo => self.undo()?,
            ChatCommand::Redo => self.redo()?,
            ChatCommand::Snapshot => self.snapshot(rest)?,
            ChatCommand::Goal => self.goal(rest)?,
            ChatCommand::Pin => self.pin(rest, true)?,
            ChatCommand::Unpin => self.pin(rest, false)?,
            ChatCommand::Mode => self.mode(rest),
            ChatCommand::Recall => self.recall(rest)?,
            ChatCommand::Export => self.export(rest)?,
            ChatCommand::Augments => self.augments(rest)?,
        };
        seen(&self.view).say(&said);
        Ok(true)
    }

    /// The session's name.
    fn name(&mut self) -> Result<String, CliError> {
        let name = self.talk.session().name().map(str::to_owned);
        let begun = name.filter(|name| self.levers.session(Some(name)).is_ok());
        begun.ok_or_else(|| CliError::usage("nothing was said yet; say something first"))
    }

    async fn model(&mut self, rest: &str) -> Result<String, CliError> {
        if rest.is_empty() {
            return Ok(addressee(&self.talk));
        }
        let spec: ModelSpec = rest.parse().map_err(CliError::usage)?;
        let api = self.talk.client().endpoint().spec.api;
        if spec.api != api {
            let api = api.name();
            return Err(CliError::usage(format!(
                "{spec} speaks another API than this conversation; name a model as `{api}:NAME`, or \
                 begin another session with it"
            )));
        }
        let client = self.tape.client(spec)?;
        let before = self.talk.client().clone();
        self.talk.set_model(client).map_err(fault_of)?;
        if let Err(failure) = self.talk.probe_window().await {
            let trouble = ChatFailure::of_model(failure, self.talk.client()).await;
            self.talk.set_model(before).map_err(fault_of)?;
            // It answered before.
            drop(self.talk.probe_window().await);
            return Err(trouble.fault);
        }
        let client = self.talk.client().clone();
        self.talk.set_model(client).map_err(fault_of)?;
        Ok(format!("the conversation goes on with {}", addressee(&self.talk)))
    }

    fn context(&mut self) -> Result<String, CliError> {
        let Some(prompt) = &self.prompt else {
            return Err(CliError::usage(
                "no prompt was made yet; say something first, or `/compress`",
            ));
        };
        let rows = [&prompt.by[0], &prompt.by[1]].map(report::rows);
        let whole = prompt.limit.max(prompt.tokens[0]);
        let categories = rows[0].iter().zip(rows[1]).map(|((name, before), (_, after))| {
            let bar = BeforeAfterBar { before: *before, after, whole, width: BAR };
            let [said, sent] = [*before, after].map(grouped);
            (*before + after > 0).then(|| format!("{name:14}{said:>9} {sent:>9}  {bar}"))
        });
        let heading = format!("{:14}{:>9} {:>9}", "", "as said", "as sent");
        let limit = format!("{:14}{:>9} {:>9}", "limit", "", grouped(prompt.limit));
        let lines = [Some(heading)].into_iter().chain(categories).chain([Some(limit)]);
        Ok(lines.flatten().collect::<Vec<_>>().join("\n"))
    }

    fn status(&mut self) -> Result<String, CliError> {
        let name = self.name()?;
        let mut out = Vec::new();
        status::write(&mut out, self.levers.keeper(), &name, &self.flag)?;
        Ok(String::from_utf8_lossy(&out).trim_end().to_owned())
    }

    fn undo(&mut self) -> Result<String, CliError> {
        let name = self.name()?;
        let compressions = self.levers.keeper().compressions(&name).map_err(CliError::of)?;
        let epoch = compressions.undo(&epitome::system_time()).map_err(CliError::of)?.short();
        Ok(format!(
            "compression {epoch} is taken back; what it had touched stays as it was said until the \
             window forces a compression, or `/redo`"
        ))
    }

    fn redo(&mut self) -> Result<String, CliError> {
        let name = self.name()?;
        let compressions = self.levers.keeper().compressions(&name).map_err(CliError::of)?;
        let epoch = compressions.redo(&epitome::system_time()).map_err(CliError::of)?.short();
        Ok(format!("compression {epoch} is in force again"))
    }

    fn snapshot(&mut self, rest: &str) -> Result<String, CliError> {
        let (session, name) = (self.name()?, (!rest.is_empty()).then_some(rest));
        let made = self.levers.snapshot(Some(&session), name).map_err(CliError::of)?;
        let (id, flag) = (&made.id, &self.flag);
        Ok(format!("snapshot {id}; `epitome snapshot restore{flag} {id}` goes back to it"))
    }

    fn goal(&mut self, rest: &str) -> Result<String, CliError> {
        let Ok(session) = self.name() else { return self.goal_ahead(rest) };
        let keeper = self.levers.keeper();
        let known = keeper.goals(Some(&session)).map_err(CliError::of)?;
        let acts = goal_acts(&known.goals, rest);
        if acts.is_empty() {
            return Ok(goal::shown(&known));
        }
        let at = epitome::system_time();
        let now =
            keeper.change_goals(Some(&session), acts, &Actor::User, &at).map_err(CliError::of)?;
        Ok(goal::shown(&now))
    }

    /// The same before anything was said: it waits for the first message.
    fn goal_ahead(&mut self, rest: &str) -> Result<String, CliError> {
        let session = self.talk.session();
        let mut known = SessionGoals { session: NEW.to_owned(), goals: session.goals_ahead() };
        for act in goal_acts(&known.goals, rest) {
            known.goals = session.change_goals(act).map_err(fault_of)?;
        }
        Ok(goal::shown(&known))
    }

    fn pin(&mut self, rest: &str, pin: bool) -> Result<String, CliError> {
        let session = self.name()?;
        let ids: Vec<_> = rest.split_whitespace().map(str::to_owned).collect();
        if !ids.is_empty() {
            let done = self.levers.pin(Some(&session), &ids, pin).map_err(CliError::of)?;
            return Ok(match done.pinned.as_slice() {
                [] => "nothing is pinned by hand".to_owned(),
                pinned => format!("pinned by hand are {}", pinned.join(" ")),
            });
        }
        let keeper = self.levers.keeper();
        let pinned = keeper.history(Some(&session)).map_err(CliError::of)?.pinned();
        let lines = spoken::last(keeper, &session, LISTED)?.into_iter().map(|said| {
            let mark = if pinned.contains(&said.id) { "pinned" } else { "" };
            let (id, role) = (said.id.to_string(), format!("{:?}", said.role).to_lowercase());
            let text = clipped(&plain(&on_one_line(&said.text)), CELLS);
            format!("  {id:5} {role:10} {mark:7} {text}")
        });
        Ok(lines.collect::<Vec<_>>().join("\n"))
    }

    fn mode(&mut self, rest: &str) -> String {
        let session = self.talk.session();
        if !rest.is_empty() {
            session.set_mode(rest);
            settings::tell_of_mode(self.levers.keeper().profile(), Some(rest));
        }
        match session.mode() {
            Some(mode) => format!("mode {}", plain(mode)),
            None => "no mode is set; policies take their own".to_owned(),
        }
    }

    fn recall(&mut self, rest: &str) -> Result<String, CliError> {
        if rest.is_empty() {
            return Err(CliError::usage("say what to look for: `/recall QUERY`"));
        }
        let counter = for_model(&self.talk.client().endpoint().spec.name);
        let keeper = self.levers.keeper();
        let found = keeper.recall(&*self.store, rest, RECALLED, &counter, |keeper| {
            catch_up(keeper, true);
        });
        Ok(match found.map_err(|error| CliError::of_store(&error))? {
            RecallResult::Original(blob) => blob.text,
            RecallResult::Answer(answer) => {
                let one = |one: &RecalledPassage| {
                    format!("{}\n{}", head(one), one.excerpt.text.trim_end())
                };
                let note = answer.note(false).map(|note| plain(&note));
                answer.found.iter().map(one).chain(note).collect::<Vec<_>>().join("\n\n")
            }
        })
    }

    fn export(&mut self, rest: &str) -> Result<String, CliError> {
        let session = self.name()?;
        let path = match rest {
            "" => PathBuf::from(format!("{}.md", session.replace('/', "-"))),
            named => PathBuf::from(named),
        };
        let is_json = path.extension().is_some_and(|ending| ending == "json");
        let written = if is_json { ExportFormat::Json } else { ExportFormat::Markdown };
        let text = self.levers.keeper().export(&session, written).map_err(CliError::of)?;
        if rest.is_empty() && Path::exists(&path) {
            let path = path.display();
            return Err(CliError::usage(format!(
                "{path} is there already; `/export FILE` names another"
            )));
        }
        files::write(&path, text.as_bytes())?;
        Ok(format!("{} was written", path.display()))
    }

    fn augments(&mut self, rest: &str) -> Result<String, CliError> {
        let session = self.talk.session().name().map(str::to_owned);
        if rest.is_empty() {
            let shelf = self.levers.list(session.as_deref()).map_err(CliError::of)?;
            let line = |one: &epitome::controls::ListedAugment| {
                let mark = if one.active { "active" } else { "" };
                format!("  {mark:7} {}  {}", plain(&one.name), plain(&one.title))
            };
            let lines: Vec<_> = shelf.augments.iter().map(line).chain(shelf.notes).collect();
            return Ok(match lines.is_empty() {
                true => "no augments; they are files `augments/<group>/<name>.md`".to_owned(),
                false => lines.join("\n"),
            });
        }
        let session = self.name()?;
        let (gone, new): (Vec<_>, Vec<_>) =
            rest.split_whitespace().map(str::to_owned).partition(|name| name.starts_with('-'));
        let gone: Vec<_> = gone.iter().map(|name| name[1..].to_owned()).collect();
        let mut said = Vec::new();
        if !gone.is_empty() {
            let done = self.levers.deactivate(Some(&session), &gone, TOOL).map_err(CliError::of)?;
            said.push(format!("unloaded {}", counted(done.unloaded.len() as u64, "augment")));
            said.extend(done.notes);
        }
        if !new.is_empty() {
            let done = self.levers.activate(Some(&session), &new).map_err(CliError::of)?;
            said.push(format!("loaded {}", counted(done.loaded.len() as u64, "augment")));
            said.extend(done.notes);
        }
        Ok(said.join("\n"))
    }
}

/// What a person wants done to the goals; nothing where they only want to see them.
fn goal_acts(known: &Goals, wanted: &str) -> Vec<GoalAction> {
    match wanted {
        "" => Vec::new(),
        "done" => vec![GoalChange::Complete.into()],
        "pause" => vec![GoalChange::Pause.into()],
        text => goal::setting(known, text.to_owned(), None, false),
    }
}
