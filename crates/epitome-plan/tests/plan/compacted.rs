//! What a provider made of the conversation before is where it begins: nothing before it is touched,
//! counted or followed by anything of ours but behind it (RULES 125).

use epitome_kernel::types::{BudgetUnit, CheckpointPlacement, EntryId, PartId};
use epitome_kernel::{PinReason, Thread};
use epitome_testkit::{Chat, Script, chat};

use crate::help::{assert_sound, compressed, lines, options, run, sizes, tokens};

/// A conversation whose provider compacted it in the sixth message, which calls a tool.
fn talk() -> Chat {
    let start = chat().system("s").user(&lines(60)).assistant(&lines(60)).call("ls", "{}");
    let start = start.result(&lines(60)).user("Go on.").compacted("So far.").and("I go on.");
    let start = start.call("ls", "{}").result("a.rs").user(&lines(60));
    start.assistant(&lines(80)).user("And now?").assistant("Now this.").user("Good.")
}

#[test]
fn what_no_model_is_shown_takes_nothing_and_goes_as_it_came() {
    let thread = Thread::new(talk().entries(), &[]);
    let sizes = sizes(&thread, BudgetUnit::Tokens);
    let block = thread.shown_from();
    assert_eq!(thread.pinned(EntryId(block as u32)), Some(PinReason::Compacted));
    assert!(sizes.entry(EntryId(0)) > 0, "the system prompt is shown all the same");
    for place in 1..block as u32 {
        assert_eq!(thread.pinned(EntryId(place)), Some(PinReason::Unshown));
        assert_eq!(sizes.entry(EntryId(place)), 0);
        assert!(thread.frozen(PartId { entry: EntryId(place), part: 0 }).is_some());
    }
}

#[test]
fn a_checkpoint_stands_behind_the_block_wherever_it_is_wanted() {
    let thread = Thread::new(talk().entries(), &[]);
    let block = thread.shown_from();
    for front in [false, true] {
        let stand = CheckpointPlacement { front, assistant: false };
        let options = epitome_plan::CompressOptions {
            stand,
            state: Some("Goal: mend it.".to_owned()),
            ..options()
        };
        let most = sizes(&thread, BudgetUnit::Tokens).total() / 2;
        let done = compressed(run(&thread, &options, tokens(most), &Script::Fill));
        assert_sound(&thread, &done.view);
        assert!(done.view.checkpoints() > 0);
        // The block's exchange, too, is as it came: the call of its message and its result.
        let sent = done.view.entries();
        for (place, (sent, came)) in sent.iter().zip(thread.entries()).enumerate() {
            assert!(place >= block + 2 || sent.parts == came.parts, "{front} {place}: {sent:?}");
        }
        let added = sent.len() > block + 2;
        assert!(added, "{sent:?}");
    }
}
