//! The profile `early` from outside (RULES 42 to 45): an analysis of sales is played to the figure
//! that is stated for it, and the shipped recording within small windows.

use serde_json::{Value, json};

use crate::measure::{faults, messages, readable};
use crate::playing::{events, played};
use crate::program::Place;
use crate::shipped::{RULES, recording};

const LAST: [&str; 3] = [
    "So what do we tell the board in one sentence?",
    "The north grows on lamps and shelves, while broken desks eat what they earn there.",
    "Thank you, draw the chart by quarter now.",
];

/// What the analyst asks, the query, how many rows it brings, one of them, and the answer.
type Step = (&'static str, &'static str, u32, fn(u32) -> Value, &'static str);

const STEPS: [Step; 3] = [
    (
        "Which regions sold the most last year?",
        "sales by region and month",
        1000,
        |at| json!({"id": at, "region": format!("R{}", at % 3), "sum": at * 37}),
        "The north leads with 214,300 in the year, 31 percent of all sales, and it grew in each \
         quarter. The south comes second with 180,900; its growth stopped in July, when two of its \
         largest shops closed for repairs. The east has 158,400 and the west 139,700. December \
         alone brought 18 percent of the year in every region, so the months are hard to compare \
         without it. The decision so far: the report leads with the north and shows December apart \
         from the rest.",
    ),
    (
        "And which products carry the north?",
        "products of the north",
        300,
        |at| json!({"sku": format!("P-{}", 1000 + at), "units": at * 13 % 70, "margin": at % 30}),
        "Three lines carry it: lamps with 61,000, shelves with 44,500 and desks with 39,200. Lamps \
         have the best margin, 34 percent, and desks the lowest, 11 percent. Forty products sold \
         fewer than five units each; together they make less than one percent. It is unresolved \
         whether P-1130 is counted twice: it stands in two warehouses under the same number, and \
         only the stock list can tell. Until then its 2,940 are left out of the totals.",
    ),
    (
        "Compare that with the returns, please.",
        "returns by product",
        1450,
        |at| json!({"return": at, "sku": format!("P-{}", 1000 + at % 300), "reason": "broken"}),
        "There are 1,450 returns, most of them desks: 480, a third of which came back broken. Lamps \
         have 120, shelves 95. After returns the desks of the north earn nothing at all, which is \
         new. The current state is this: regions and products are done, returns are counted by \
         product, and the chart by quarter is still to be drawn. A fair comparison leaves out \
         returns of the week after Christmas, as the shops took everything back then without asking \
         for a reason.",
    ),
];

const ORDER: [&str; 2] = [
    "What would you look at first, and in which order?",
    "First at the desks of the north: 480 returns, 160 of them broken on the way, which points at \
     the packing and not at the product. Ask the carrier for its own count, since the shops note a \
     reason only now and then. Second at P-1130 and its two warehouses; one look into the stock \
     list settles that. Third at the south after July, where the two closed shops explain about \
     half of what is missing; the other half is open, and the weather does not explain it. Last at \
     the forty products that hardly sell: they cost little, but they take a fifth of the shelves. \
     The order follows the money: the desks lose about 9,000 in the year, the double count is worth \
     2,940, the south some 6,000 that will come back by itself once the shops are open. I would \
     decide about the small products only when the chart by quarter is drawn, since some of them \
     may be for one season, and a lamp that nobody buys in May is no loss if it leaves in November \
     with all the others. The packing of the desks is the one thing that can be changed this week; \
     the supplier has offered stronger boxes twice, and the price of a box is a tenth of what one \
     broken desk costs. Two questions are left for the shops: whether the returns of the week after \
     Christmas were counted in all of them, and why the east sold no shelves at all in March, where \
     it had sold 120 in the year before. The finance team wants an answer to the first by Friday. \
     The second can wait until the stock list is there, which is said to come on Monday, together \
     with the prices of the new carrier, and nothing of it changes the order, as far as I can see.",
];

/// An analysis of sales with three results of 1000, 300 and more rows (RULES 45).
fn analysis() -> Value {
    let system = "You are an analyst of a furniture chain. Answer briefly.";
    let mut talk = vec![json!({"role": "system", "content": system})];
    for (at, (ask, query, rows, row, answer)) in STEPS.into_iter().enumerate() {
        let id = format!("call_{at}");
        let arguments = json!({ "query": query }).to_string();
        let function = json!({"name": "run_sql", "arguments": arguments});
        let rows: Vec<_> = (1..=rows).map(|at| row(at).to_string()).collect();
        talk.extend([
            json!({"role": "user", "content": ask}),
            json!({"role": "assistant", "content": null,
                "tool_calls": [{"id": id, "type": "function", "function": function}]}),
            json!({"role": "tool", "tool_call_id": id, "content": format!("[{}]", rows.join(",\n"))}),
            json!({"role": "assistant", "content": answer}),
        ]);
    }
    for (text, role) in ORDER.iter().chain(&LAST).zip(["user", "assistant"].iter().cycle()) {
        talk.push(json!({"role": role, "content": text}));
    }
    json!({"model": "gpt-4o", "messages": talk})
}

/// Plays a recording with this profile, and gives the turns, the summary, and the last prompt.
#[track_caller]
fn play(place: &Place, name: &str, limit: &str) -> (Vec<Value>, Value, Value) {
    let args = ["replay", name, "--profile", "early", "--prompt-limit", limit, "--dump", "prompts"];
    let ran = place.run([&args[..], &["--json", "-q"]].concat());
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let (turns, summary) = played(&ran);
    assert_eq!((&summary["oversized"], &summary["refused"]), (&json!(0), &json!([])), "{limit}");
    for turn in &turns {
        let prompt =
            place.read_json(&format!("prompts/{:04}.json", turn["turn"].as_u64().unwrap()));
        assert_eq!(faults(&prompt), Vec::<String>::new(), "{turn}");
        assert!(!events(turn).iter().any(|name| name.contains("error")), "{turn}");
    }
    let last = place.read_json(&format!("prompts/{:04}.json", turns.len()));
    (turns, summary, last)
}

/// "1,200 tokens become 400 (67 % saved): one summary and the last question with its answer"
#[test]
fn an_analysis_of_sales_comes_to_a_third() {
    let place = Place::new();
    place.write("sales.json", analysis().to_string());
    let (turns, summary, last) = play(&place, "sales.json", "2400");

    // Each result is a row count and samples as soon as it comes.
    assert_eq!(summary["digested"]["count"], 3, "{summary}");
    let (before, turn) = (&turns[turns.len() - 2], &turns[turns.len() - 1]);
    let text = readable(&place.read_json("prompts/0008.json"));
    for (_, _, rows, row, _) in STEPS {
        let rows = if rows > 999 {
            format!("{},{:03}", rows / 1000, rows % 1000)
        } else {
            rows.to_string()
        };
        assert!(
            text.contains(&format!("{rows} rows")) && text.contains(&row(1).to_string()),
            "{text}"
        );
    }

    // Half of the limit is reached with the last message, and not before.
    assert!(before["tokens_sent"].as_u64() < Some(1200), "{before}");
    let mut happened = turn["events"].as_array().unwrap().iter();
    let compressed = happened.find(|one| one["event"] == "compressed");
    let compressed = compressed.unwrap_or_else(|| panic!("{turn}"));
    let [from, to] = [0, 1].map(|at| compressed["tokens"][at].as_u64().unwrap());
    assert!((1200..=1230).contains(&from) && to <= 410, "{from} to {to}");

    let all = messages(&last);
    let said: Vec<_> = all.iter().map(|one| one["content"].as_str().unwrap()).collect();
    let [_, summary, rest @ ..] = &said[..] else { panic!("{said:#?}") };
    assert!(summary.starts_with("[SUMMARY]: ") && !summary.contains("\"sku\""), "{summary}");
    // It is folded into the question behind it.
    assert!(summary.ends_with(LAST[0]) && rest == &LAST[1..], "{said:#?}");
}

/// "`debug` verbosity switches digests off, not the limits"
#[test]
fn debugging_sends_results_as_they_are_while_they_fit() {
    let place = Place::new();
    place.write("epitome.toml", "profile.early.options.early.verbosity = \"debug\"");
    place.write("sales.json", analysis().to_string());
    // In a small window all three results are too large, in a large one the last.
    for (limit, offloaded) in [("2400", 3), ("200000", 1)] {
        let summary = play(&place, "sales.json", limit).1;
        assert_eq!(summary["digested"]["count"], 0, "{summary}");
        assert_eq!(summary["offloaded"]["count"], offloaded, "{summary}");
    }
}

#[test]
fn the_shipped_recording_stays_within_its_limit() {
    let place = Place::new();
    place.write("session.jsonl", recording());
    let (_, summary, last) = play(&place, "session.jsonl", "6800");
    assert!(summary["compressions"].as_u64() > Some(20), "{summary}");
    assert_eq!(summary["prefix_kept"], json!(1.0), "{summary}");
    let text = readable(&last);
    assert_eq!(text.matches("[SUMMARY]: ").count(), 1, "{text}");
    RULES.iter().for_each(|rule| assert!(text.contains(rule), "{rule}"));
}
