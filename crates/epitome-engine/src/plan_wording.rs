//! How plans are worded: the options as the orders and the wordings of the policies change them.
//!
//! Invariant: a policy words what it is asked about and nothing else. Called by whoever makes plans.

use epitome_plan::CompressOptions;
use epitome_types::hook::{Common, OpRequest, Orders, Position, Render, RenderJob, Wording};
use epitome_types::{CheckpointPlacement, Role};

use crate::policy_runner::PolicyRunner;
use epitome_config::profile::Back;

/// What is ordered.
pub(crate) struct GivenOrders<'a> {
    pub(crate) orders: &'a Orders,
    /// The policy that gave the orders; none where nobody did.
    pub(crate) policy: Option<String>,
}

/// The options as the orders and the wording of the policies change them.
pub(crate) async fn shaped(
    mut options: CompressOptions,
    back: Back,
    council: &PolicyRunner,
    common: &Common,
    given: GivenOrders<'_>,
) -> CompressOptions {
    let GivenOrders { orders, policy } = given;
    if let Some(policy) = policy {
        options.policy = policy;
    }
    for order in &orders.ops {
        let OpRequest::Fit(fit) = order else { continue };
        if let Some(share) = fit.keep_recent_share {
            (options.keep_recent_share, options.keep_recent_messages) = (share, None);
        }
        if let Some(messages) = fit.keep_recent_messages {
            options.keep_recent_messages = Some(messages as usize);
        }
    }
    let texts = &mut options.texts;
    // What a policy lets a checkpoint begin with is what it begins with, in little room as well unless it
    // says what stands there (RULES 11).
    let said = rendered(Wording::Checkpoint, back, council, common).await.unwrap_or_default();
    if let Some(text) = said.text {
        texts.label_short = said.short.unwrap_or_else(|| text.clone());
        texts.label_share = said.share.unwrap_or(texts.label_share);
        texts.label = text;
    }
    options.stand = CheckpointPlacement {
        front: said.place == Some(Position::Front),
        assistant: said.role == Some(Role::Assistant),
    };
    for (part, slot) in
        [(Wording::Reference, &mut texts.marker), (Wording::Placeholder, &mut texts.stub)]
    {
        if let Some(text) = worded(part, back, council, common, |_| true).await {
            *slot = text;
        }
    }
    options
}

/// How the policies word a text, where they say so in a text that is short enough; else it is an error
/// of theirs, and they have said nothing.
pub(crate) async fn worded(
    part: Wording,
    back: Back,
    council: &PolicyRunner,
    common: &Common,
    is_short: impl Fn(&String) -> bool,
) -> Option<String> {
    let mut job = asked(part, back, council, common);
    let decision = council.ask(&mut job).await;
    let policy = decision.policy();
    let text = decision.value?.text?;
    if is_short(&text) {
        return Some(text);
    }
    let part = part.word();
    let what = format!("its text for `{part}` leaves the prompt no room; the built-in one stands");
    council.refuse::<RenderJob>(policy, what);
    None
}

/// What the policies say of a text.
async fn rendered(
    part: Wording,
    back: Back,
    council: &PolicyRunner,
    common: &Common,
) -> Option<Render> {
    council.ask(&mut asked(part, back, council, common)).await.value
}

/// The question for a text.
fn asked(part: Wording, back: Back, council: &PolicyRunner, common: &Common) -> RenderJob {
    let (in_store, in_files) = (back != Back::None, back == Back::File);
    let (common, time) = (common.clone(), council.time(common));
    RenderJob { common, part, system: None, time, in_store, in_files }
}
