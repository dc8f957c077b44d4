//! One recording, played turn by turn.

use std::sync::Arc;

use epitome::{Format, MemoryStore, Prices, WindowSetting};
use epitome_lab::{CacheTraffic, Recording, Replay, ReplaySetup, ReplayTotals, ReplayTurn};

use crate::talk::conversation;

/// Plays a conversation to its end; the prompts stand beside their turns.
async fn play(
    text: &str,
    setup: &ReplaySetup,
    store: Arc<MemoryStore>,
) -> (Vec<(ReplayTurn, Vec<u8>)>, ReplayTotals) {
    let recording = Recording::read(text.as_bytes(), None, None).unwrap();
    let mut replay = Replay::new(&recording, setup, store, Some("played")).unwrap();
    let mut turns = Vec::new();
    while let Some(turn) = replay.step().await.unwrap() {
        turns.push((turn, replay.prompt().to_vec()));
    }
    assert_eq!(turns.len(), replay.turns());
    (turns, replay.finish().unwrap())
}

fn limited(limit: u64) -> ReplaySetup {
    let clock: epitome::Clock = Arc::new(|| "2026-01-02T03:04:05.000Z".to_owned());
    ReplaySetup {
        window: WindowSetting::Limit(limit),
        clock: Some(clock),
        ..ReplaySetup::default()
    }
}

/// The rule as it is told: of every prompt, the messages that stand at the beginning of the one
/// before are read, all else is written.
fn traffic(prompts: &[(u64, &[u8])]) -> CacheTraffic {
    let mut all = CacheTraffic::default();
    let mut before: Vec<serde_json::Value> = Vec::new();
    for (tokens, prompt) in prompts {
        let body: serde_json::Value = serde_json::from_slice(prompt).unwrap();
        let messages = body["messages"].as_array().unwrap().clone();
        let same = before.iter().zip(&messages).take_while(|(old, new)| old == new).count();
        let rest = serde_json::json!({ "messages": messages[same..] }).to_string();
        let setup = limited(1_000_000);
        let written = match same {
            0 => *tokens,
            _ => size(&rest, &setup),
        };
        all.prompt(*tokens, tokens - written);
        before = messages;
    }
    all
}

/// The tokens of a request.
fn size(request: &str, setup: &ReplaySetup) -> u64 {
    let recording = Recording::read(request.as_bytes(), Some(Format::OpenAi), None).unwrap();
    Replay::new(&recording, setup, Arc::new(MemoryStore::new()), None).unwrap().tokens()
}

#[tokio::test]
async fn figures_are_those_of_the_prompts() {
    let (turns, figures) =
        play(&conversation(40), &limited(2500), Arc::new(MemoryStore::new())).await;
    assert!(figures.requests.compressions > 2, "{figures:#?}");
    assert_eq!(
        (figures.requests.oversized, figures.requests.refused.len(), figures.requests.turns),
        (0, 0, turns.len())
    );
    let sent: Vec<_> =
        turns.iter().map(|(turn, prompt)| (turn.tokens_sent, prompt.as_slice())).collect();
    assert_eq!(figures.cache.traffic, traffic(&sent));
    // As it came, a request is the one before and what was added.
    let raw: Vec<_> = turns.iter().map(|(turn, _)| turn.tokens_raw).collect();
    let read: u64 = raw[..raw.len() - 1].iter().sum();
    let written = *raw.last().unwrap();
    assert_eq!(figures.cache.traffic_uncompressed, CacheTraffic { read, written });
    assert_eq!(figures.tokens.raw, raw.iter().sum::<u64>());
    assert_eq!(Some(&figures.tokens.max_raw), raw.iter().max());
    let most = turns.iter().map(|(turn, _)| turn.tokens_sent).max();
    assert_eq!(Some(figures.tokens.max_sent), most);
    assert!(figures.tokens.max_sent <= 2500);
    for cost in [
        figures.cache.cost
            - (figures.cache.traffic.read as f64 * 0.1
                + figures.cache.traffic.written as f64 * 1.25),
        figures.cache.cost_uncompressed - (read as f64 * 0.1 + written as f64 * 1.25),
    ] {
        assert!(cost.abs() < 1e-6, "off by {cost}");
    }
}

#[tokio::test]
async fn prompts_only_grow_between_epochs() {
    let (turns, figures) =
        play(&conversation(40), &limited(2500), Arc::new(MemoryStore::new())).await;
    assert!(figures.prefix_kept >= 1.0);
    for (before, after) in turns.iter().zip(&turns[1..]) {
        let grew = after.1.starts_with(&before.1[..before.1.len() - b"]}".len()]);
        assert_eq!(grew, after.0.prefix_kept >= 1.0, "turn {}", after.0.turn);
        assert_eq!(grew, !after.0.has_new_epoch(), "turn {}", after.0.turn);
    }
}

#[tokio::test]
async fn the_same_recording_gives_the_same_lines() {
    let lines = |turns: &[(ReplayTurn, Vec<u8>)]| -> Vec<String> {
        turns.iter().map(|(turn, _)| serde_json::to_string(turn).unwrap()).collect()
    };
    let text = conversation(30);
    let store = Arc::new(MemoryStore::new());
    let (one, _) = play(&text, &limited(2000), store.clone()).await;
    let (other, _) = play(&text, &limited(2000), Arc::new(MemoryStore::new())).await;
    assert_eq!(lines(&one), lines(&other));
    let hash = format!("b3:{}", blake3::hash(&one[7].1));
    assert_eq!(one[7].0.prompt, Some(hash));
}

#[tokio::test]
async fn a_line_has_the_promised_keys() {
    let (turns, figures) =
        play(&conversation(9), &limited(2500), Arc::new(MemoryStore::new())).await;
    let line = serde_json::to_value(&turns[0].0).unwrap();
    let keys: Vec<_> = line.as_object().unwrap().keys().map(String::as_str).collect();
    let promised =
        ["turn", "role", "tokens_raw", "tokens_sent", "limit", "prefix_kept", "prompt", "events"];
    assert_eq!(keys, promised);
    assert_eq!(
        (&line["turn"], &line["role"], &line["limit"]),
        (&1.into(), &"user".into(), &2500.into())
    );
    let summary = serde_json::to_value(figures.summary(12.5)).unwrap();
    for key in [
        "summary",
        "compressions",
        "max_tokens_sent",
        "oversized",
        "cache_cost",
        "cache_cost_uncompressed",
        "elapsed_ms",
        "must_keep",
    ] {
        assert!(summary.get(key).is_some(), "{key}");
    }
    assert_eq!((&summary["summary"], &summary["elapsed_ms"]), (&true.into(), &12.5.into()));
    assert_eq!((&summary["session"], &summary["format"]), (&"played".into(), &"openai".into()));
}

#[tokio::test]
async fn what_cannot_fit_is_refused_and_the_replay_goes_on() {
    let long = "word ".repeat(3000);
    let text = format!(
        r#"[{{"role":"user","content":"Hello."}},{{"role":"assistant","content":"Yes?"}},
            {{"role":"user","content":"{long}"}},{{"role":"assistant","content":"I see."}},
            {{"role":"user","content":"Thank you."}},{{"role":"assistant","content":"Bye."}}]"#
    );
    let (turns, figures) = play(&text, &limited(600), Arc::new(MemoryStore::new())).await;
    assert_eq!(figures.requests.turns, 3);
    assert_eq!(figures.requests.refused.iter().map(|one| one.turn).collect::<Vec<_>>(), [2]);
    assert!(
        figures.requests.refused[0].reason.contains("cannot shrink"),
        "{}",
        figures.requests.refused[0].reason
    );
    let refused = &turns[1].0;
    assert_eq!((refused.tokens_sent, refused.limit, &refused.prompt), (0, 600, &None));
    assert!(refused.tokens_raw > 3000);
    // It counts neither as sent nor as it came.
    assert_eq!(figures.tokens.raw, turns[0].0.tokens_raw + turns[2].0.tokens_raw);
    assert_eq!(figures.requests.oversized, 0);
}

#[tokio::test]
async fn a_replay_goes_on_where_an_earlier_one_ended() {
    let text = conversation(30);
    let store = Arc::new(MemoryStore::new());
    let recording = Recording::read(text.as_bytes(), None, None).unwrap();
    let setup = limited(2000);
    let mut cut_short = Replay::new(&recording, &setup, store.clone(), Some("played")).unwrap();
    let mut hashes = Vec::new();
    for _ in 0..25 {
        hashes.push(cut_short.step().await.unwrap().unwrap().prompt);
    }
    drop(cut_short);
    let (again, _) = play(&text, &setup, store).await;
    let (whole, _) = play(&text, &setup, Arc::new(MemoryStore::new())).await;
    assert_eq!(again[24].0.prompt, hashes[24]);
    assert_eq!(again.last().unwrap().0.prompt, whole.last().unwrap().0.prompt);
}

#[tokio::test]
async fn what_left_is_found_again() {
    let (_, figures) = play(&conversation(40), &limited(1200), Arc::new(MemoryStore::new())).await;
    let kept = figures.must_keep.kept;
    let [here, all] = kept.paths;
    assert!(here < all, "{kept:?}");
    assert!(kept.recallable * 10 >= (all - here) * 9, "{kept:?}");
    assert_eq!(kept.constraints[0], kept.constraints[1]);
}

#[tokio::test]
async fn money_is_paid_at_the_prices_of_the_model() {
    let prices = Prices::default()
        .extended("[[model]]\nname = \"mine\"\ninput = 2.0\nread = 0.5\nwrite = 1.0\n")
        .unwrap();
    let setup =
        ReplaySetup { model: Some("team/mine-20260101".to_owned()), prices, ..limited(2500) };
    let (_, figures) = play(&conversation(30), &setup, Arc::new(MemoryStore::new())).await;
    assert_eq!(figures.money.priced_as.as_deref(), Some("mine"));
    let cache = epitome::CachePrices { read: 0.5, write: 1.0 };
    let price = |it: CacheTraffic| it.cost(cache) * 2.0 / 1e6;
    let [raw, sent] = [figures.cache.traffic_uncompressed, figures.cache.traffic].map(price);
    assert!((figures.money.raw.unwrap() - raw).abs() < 1e-9);
    assert!((figures.money.saved.unwrap() - (raw - sent)).abs() < 1e-9);
}

#[tokio::test]
async fn a_model_of_another_generation_is_unpriced() {
    let setup = ReplaySetup { model: Some("claude-opus-4-9".to_owned()), ..limited(2500) };
    let (_, figures) = play(&conversation(30), &setup, Arc::new(MemoryStore::new())).await;
    let money = &figures.money;
    assert_eq!((money.raw, money.sent, money.saved), (None, None, None));
    assert_eq!(money.priced_as, None);
}

#[tokio::test]
async fn no_saving_is_claimed_beyond_the_window_of_the_model() {
    let models = epitome::ModelTable::default();
    assert!(models.window("gpt-4", None).is_ok());
    let setup = ReplaySetup { model: Some("gpt-4".to_owned()), ..limited(2500) };
    let (turns, figures) = play(&conversation(60), &setup, Arc::new(MemoryStore::new())).await;
    let raw = turns.iter().map(|(turn, _)| turn.tokens_raw);
    assert!(raw.clone().max().unwrap() > 8_192, "the recording outgrows the window");
    assert!(figures.cache.traffic_uncompressed.tokens() < raw.sum::<u64>());
}
