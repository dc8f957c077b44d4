//! The server: one for each client over standard streams, one for each request over HTTP.
//!
//! Invariant: a call finds its session by the name that it gives, else by what the client says of
//! the call, else by what the host knows of the client; else it is the session used last. One that is
//! known and not found is an error, and never another one; a call with an id is of the answer that
//! holds it.

use std::sync::Arc;
use std::time::Duration;

use epitome::{AdminError, LeverCall, SessionControls};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};

use crate::documents;
use crate::table::{CallContext, ControlTool, TABLE};

/// What the client tells its model of the server.
const ABOUT: &str = "Levers over the context window of this conversation. When a task is done and \
    its tool results are no longer needed, call compress_to_checkpoint, or deactivate_augments \
    where augments were loaded for it. What was shortened or left comes back with recall.";

/// Where Claude Code says which of its model's calls this one is.
const CALL: &str = "claudecode/toolUseId";

/// What a client may ask for, as it names it.
const METHODS: &str = "initialize, ping, tools/list, tools/call, resources/list, \
    resources/templates/list and resources/read";

/// So many characters of what a client asks for in its place are repeated.
const NAMED: usize = 60;

/// How often the answer that holds a call is looked for, and the pause in between: three seconds in all,
/// since it is recorded after its calls are made.
const LOOKS: usize = 60;
const PAUSE: Duration = Duration::from_millis(50);

/// The server.
#[derive(Clone)]
pub(crate) struct McpServer {
    levers: Arc<SessionControls>,
    /// The session that the client was heard of last.
    heard: Option<String>,
}

impl McpServer {
    pub(crate) fn new(levers: SessionControls, heard: Option<String>) -> Self {
        Self { levers: Arc::new(levers), heard }
    }

    fn called(&self, request: CallToolRequestParams, call: Option<&str>) -> CallToolResult {
        let Some(lever) = ControlTool::named(&request.name) else {
            let known = TABLE.map(|lever| lever.name).join(", ");
            let words = format!("there is no tool `{}`; there is {known}", request.name);
            return CallToolResult::error(vec![ContentBlock::text(words)]);
        };
        let arguments = request.arguments.unwrap_or_default();
        let made = LeverCall { id: call, tool: lever.name, arguments: &arguments };
        // Whoever names a session means no other.
        let is_named = arguments.contains_key("session");
        let found = if is_named { Ok(None) } else { self.session_of(&made) };
        let session = match found {
            Err(error @ (AdminError::AmbiguousCall { .. } | AdminError::UnknownCall { .. })) => {
                return CallToolResult::error(vec![ContentBlock::text(error.to_string())]);
            }
            Err(error) => {
                tracing::warn!(%error, "the session of a call cannot be looked for");
                None
            }
            Ok(session) => session,
        };
        let session = session.or_else(|| self.heard.clone());
        let ground = CallContext { levers: &self.levers, session: session.as_deref() };
        lever.pull(&ground, arguments)
    }

    /// The session that a call came from. One whose client tells its id may come before the answer
    /// that holds it is recorded.
    fn session_of(&self, made: &LeverCall<'_>) -> Result<Option<String>, AdminError> {
        for _ in 0..LOOKS {
            let found = self.levers.session_of_call(made)?;
            if found.is_some() || made.id.is_none() {
                return Ok(found);
            }
            std::thread::sleep(PAUSE);
        }
        self.levers.refuse_unknown(made)?;
        Ok(None)
    }

    /// Does what reads or writes the journal where nobody waits for it.
    async fn apart<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Self) -> T + Send + 'static,
    ) -> Result<T, ErrorData> {
        let this = self.clone();
        let done = tokio::task::spawn_blocking(move || work(&this)).await;
        done.map_err(|error| ErrorData::internal_error(error.to_string(), None))
    }
}

impl ServerHandler for McpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_resources().build();
        let ours = Implementation::new("epitome", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(ours).with_instructions(ABOUT)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TABLE.iter().map(ControlTool::tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        ControlTool::named(name).map(ControlTool::tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let call = context.meta.0.0.get(CALL).and_then(|id| id.as_str()).map(str::to_owned);
        let result = self.apart(move |this| this.called(request, call.as_deref())).await?;
        Ok(result.into())
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult::with_all_items(documents::list()))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        Ok(ListResourceTemplatesResult::with_all_items(documents::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let read = self
            .apart(move |this| documents::read(&this.levers, this.heard.as_deref(), &request.uri));
        Ok(ReadResourceResult::new(vec![read.await??]).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method: String = request.method.chars().take(NAMED).collect();
        let words = format!("there is no method `{method}`; there are {METHODS}");
        Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, words, None))
    }
}
