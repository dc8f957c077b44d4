//! Whole conversations for the tests of a policy.
//!
//! Invariant: what plays them stands above this crate and is handed in; without it a test that wants
//! one is left out. Called by `suite`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use epitome_kernel::ModelQuestion;
use epitome_types::hook::{HasShape, PlaySettings, PlayedConversation};
use mlua::{Error, Lua, Result, Table, Value};
use serde_json::{Map, Value as Json};

use crate::call_timer::CallTimer;
use crate::read::read;
use crate::strict;
use crate::write::to_lua;

/// The question by which a model is asked for a summary.
const SUMMARY: &str = "summary";
/// Why no model writes summaries in a test that says nothing for one.
pub const NO_SUMMARY: &str =
    "the test lets no model write summaries; `t.reply(\"summary\", …)` does";

/// What a test says for a model: the answer to a question, or why there is none.
pub type ModelReplies =
    Arc<dyn Fn(&ModelQuestion) -> std::result::Result<String, String> + Send + Sync>;

/// Plays conversations under the policy that is tested.
pub trait ConversationPlayer: Send + Sync {
    /// Plays the recording of this name; `replies` speaks for models, where the test says anything
    /// for one.
    ///
    /// # Errors
    ///
    /// When there is no such recording, or the settings cannot be used.
    fn play(
        &self,
        recording: &str,
        settings: PlaySettings,
        replies: Option<ModelReplies>,
    ) -> std::result::Result<PlayedConversation, String>;
}

/// What `t.replay` works with.
pub(crate) struct TestStage {
    pub(crate) player: Option<Arc<dyn ConversationPlayer>>,
    /// The timer of the test, which stands while a conversation is played.
    pub(crate) timer: Arc<CallTimer>,
    /// Raised where there is nobody who plays.
    pub(crate) unplayed: Arc<AtomicBool>,
}

impl TestStage {
    /// `t.replay`: `said` holds what models say, by the question's id.
    pub(crate) fn play(
        &self,
        lua: &Lua,
        recording: &str,
        settings: Option<Table>,
        said: Table,
    ) -> Result<Value> {
        let Some(player) = &self.player else {
            self.unplayed.store(true, Ordering::Relaxed);
            return Err(Error::runtime("there is nobody here who plays conversations"));
        };
        let settings = match settings {
            Some(settings) => read(&Value::Table(settings), &PlaySettings::SHAPE)
                .map_err(|misfit| Error::runtime(format!("the settings of t.replay: {misfit}")))?,
            None => Json::Object(Map::new()),
        };
        let settings = serde_json::from_value(settings).map_err(Error::external)?;
        let has_replies = !said.is_empty();
        let lua_of_replies = lua.clone();
        let replies: ModelReplies =
            Arc::new(move |question| reply(&lua_of_replies, &said, question));
        let replies = has_replies.then_some(replies);
        let played = self.timer.paused(|| player.play(recording, settings, replies));
        let played = to_lua(lua, &played.map_err(Error::runtime)?)?;
        if let Value::Table(table) = &played {
            strict::lock(lua, table, "t.replay", None)?;
        }
        Ok(played)
    }
}

/// What a test says for a model.
fn reply(lua: &Lua, said: &Table, question: &ModelQuestion) -> std::result::Result<String, String> {
    let ModelQuestion { id, system, user, max_tokens, .. } = question;
    let failed = |error: Error| error.to_string();
    match said.raw_get::<Value>(id.as_str()).map_err(failed)? {
        Value::String(text) => Ok(text.to_string_lossy()),
        Value::Function(function) => {
            let ask = lua.create_table().map_err(failed)?;
            let fields = [("id", Some(id)), ("system", system.as_ref()), ("user", Some(user))];
            for (name, text) in fields {
                ask.raw_set(name, text.map(String::as_str)).map_err(failed)?;
            }
            ask.raw_set("max_tokens", *max_tokens).map_err(failed)?;
            function.call(ask).map_err(failed)
        }
        _ if id == SUMMARY => Err(NO_SUMMARY.to_owned()),
        _ => Err(format!("the test says nothing for `{id}`; `t.reply(\"{id}\", …)` does")),
    }
}
