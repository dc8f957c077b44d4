//! How tokens are counted where nobody says otherwise.
//!
//! Invariant: plain data. Asked wherever something is counted.

use epitome_count::ToolFormat;
use epitome_wire::Format;

/// The vocabulary in which tokens are counted where nobody names a model: that of budgets.
pub const BUDGET_VOCABULARY: &str = "o200k_base";

/// Returns how a format hands tools to the model.
pub fn tool_format(format: Format) -> ToolFormat {
    match format.nearest() {
        Format::Anthropic => ToolFormat::Anthropic,
        Format::Ollama => ToolFormat::Template,
        _ => ToolFormat::OpenAi,
    }
}
