//! Web pages as real tools make them: smaller, with what matters in each.
#![allow(clippy::unwrap_used, reason = "a test")]

use epitome_digest_html::HtmlDigester;
use epitome_plugin::conformance::{self, ConformanceSample};
use epitome_plugin::{DigestInput, DigestOutput, Plugin};
use proptest::prelude::*;

const RUSTDOC: &str = include_str!("pages/rustdoc.html");

fn digest(text: &str, most: usize) -> Option<DigestOutput> {
    let size = |text: &str| text.len() as u64;
    HtmlDigester.digest(&DigestInput::new(text, most as u64, &size).of("fetch", "{}")).unwrap()
}

#[track_caller]
fn check(page: &str, expected: &str) {
    let found = digest(page, usize::MAX).unwrap().text;
    let (mark, body) = found.split_once('\n').unwrap();
    assert!(mark.starts_with("[… HTML as text") && mark.ends_with(']'), "{mark}");
    assert_eq!(body, expected);
}

fn page(body: &str) -> String {
    format!("<!doctype html><html><head><style>p {{}}</style></head><body>{body}</body></html>")
}

/// A page of `rustdoc`: its sidebar, scripts and markup go; what it says of each item stays.
#[test]
fn a_page_of_rustdoc_keeps_what_it_documents() {
    let found = digest(RUSTDOC, RUSTDOC.len() / 2).unwrap();
    assert!(found.text.len() * 5 <= RUSTDOC.len() * 2, "{} bytes", found.text.len());
    for part in [
        "# Struct Memory",
        "pub struct Memory { /* private fields */ }",
        "A store in memory.",
        "#### pub fn new() -> Self\nAn empty store.",
        "[usize](https://doc.rust-lang.org/1.95.0/std/primitive.usize.html)",
        "Sessions, the one used last first, at most most after skipping skip; those in the trash \
         only where trashed.",
    ] {
        assert!(found.text.contains(part), "{part} in {}", found.text);
    }
    for gone in ["<section", "woff2", "static.files", "sidebar"] {
        assert!(RUSTDOC.contains(gone) && !found.text.contains(gone), "{gone}");
    }
    let sidebar =
        RUSTDOC.find("All Items").unwrap_or_else(|| RUSTDOC.find("sidebar-elems").unwrap());
    assert!(found.left.iter().any(|span| span.end > sidebar), "what is left out can be found");
}

#[test]
fn structure_is_kept_as_plain_text_writes_it() {
    check(
        &page(
            "<h1>Prices <a href='#p'>#</a></h1><p>All of\n them &mdash; see <a href=\"/tax?a=1&amp;b=2\">the tax</a>, \
             or <a href=\"/tax?a=1&amp;b=2\">it</a> again.<ul><li>one<li>two<ol><li>deep</ol></ul>\
             <table><tr><th>name<th>price</tr><tr><td>A &lt; B</td><td><b>3</b>&nbsp;€</td></tr></table>\
             <pre><code>let a = &amp;b;\n  c(<a href='/c'>d</a>);\n</code></pre>last<br>line\
             <img src=x alt='a chart'>",
        ),
        "# Prices\nAll of them — see [the tax](/tax?a=1&b=2), or it again.\n- one\n- two\n  - deep\n\
         name | price\nA < B | 3 €\nlet a = &b;\n  c(d);\nlast\nline[… image: a chart]",
    );
}

#[test]
fn what_stands_around_the_main_part_goes() {
    check(
        &page(
            "<header>Shop</header><nav><a href=/>Home</a></nav><div class='cookie-banner'>We use \
             them</div><main><h2>Lamps</h2><p>A lamp is 30 € today.</p><script>var x = \"<p>\";</script>\
             </main><footer>© us</footer>",
        ),
        "## Lamps\nA lamp is 30 € today.",
    );
    // A page that is nothing but navigation keeps it.
    check(
        &page("<nav><ul><li><a href=/a>A</a><li><a href=/b>B</a></ul></nav>"),
        "- [A](/a)\n- [B](/b)",
    );
}

#[test]
fn a_form_says_what_it_asks_for() {
    check(
        &page(
            "<form method=post action=/cgi-bin/forms.pl><label>Name</label><input name=name>\
             <select name=age><option>1</select><input type=submit></form>",
        ),
        "Name\n[… form POST /cgi-bin/forms.pl: name, age]",
    );
}

/// Where not all of it fits, names of sections, failures and what was asked for are left.
#[test]
fn names_failures_and_what_was_asked_for_come_first() {
    let section = |at: usize| {
        let more = "<p>More about this than anybody has ever wanted to know of it.</p>".repeat(30);
        format!("<h2>Part {at}</h2><p>Begin {at}.</p>{more}")
    };
    let body: String = (0..20).map(section).collect();
    let body = body.replacen("Begin 7.</p>", "Begin 7.</p><p>It failed with code 37.</p>", 1);
    let body = body.replacen("Begin 9.</p>", "Begin 9.</p><p>The warranty is 3 years.</p>", 1);
    let text = page(&body);
    let size = |text: &str| text.len() as u64;
    let job = DigestInput::new(&text, 3000, &size)
        .of("fetch", r#"{"prompt": "how long is the warranty"}"#);
    let found = HtmlDigester.digest(&job).unwrap().unwrap();
    assert!(found.text.len() <= 3000);
    for at in 0..20 {
        assert!(found.text.contains(&format!("## Part {at}\nBegin {at}.")), "{at}: {}", found.text);
    }
    assert!(found.text.contains("It failed with code 37."));
    assert!(found.text.contains("The warranty is 3 years."));
    let hidden = text.rfind("More about").unwrap();
    assert!(found.left.iter().any(|span| span.contains(&hidden)));
}

#[test]
fn files_and_other_texts_are_left_alone() {
    let text = page("<p>text</p>");
    let size = |text: &str| text.len() as u64;
    let job = |tool, arguments| DigestInput::new(&text, 1000, &size).of(tool, arguments);
    assert_eq!(HtmlDigester.digest(&job("Read", r#"{"file_path": "a.html"}"#)).unwrap(), None);
    assert_eq!(HtmlDigester.digest(&job("Bash", r#"{"command": "cat a.html"}"#)).unwrap(), None);
    assert!(
        HtmlDigester.digest(&job("Bash", r#"{"command": "curl http://a"}"#)).unwrap().is_some()
    );
    for other in
        ["", "prose", "<?xml version='1.0'?><a/>", "<!DOCTYPE svg><svg/>", "<html>", "a < b"]
    {
        assert_eq!(digest(other, 1000), None, "{other}");
    }
}

#[test]
fn the_laws_of_digests_hold() {
    let mut samples = [conformance::usual(), conformance::odd()].concat();
    samples.push(
        ConformanceSample::new("rustdoc", RUSTDOC).of("web_fetch", r#"{"url":"https://x.org"}"#),
    );
    let report = conformance::check(&HtmlDigester, &samples);
    assert_eq!(report.findings, []);
    assert!(report.made.iter().any(|made| made.sample == "html"), "{:?}", report.made);
}

/// Words of a text without what is marked.
fn words(text: &str) -> Vec<String> {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, marked)) = rest.split_once("[… ") {
        out.push_str(before);
        rest = marked.split_once(']').map_or("", |(_, after)| after);
    }
    out.push_str(rest);
    out.split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_owned)
        .collect()
}

/// Pieces of pages, broken ones among them.
fn soup() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        "[a-zäß ]{0,12}",
        proptest::sample::select(vec![
            "<p>",
            "</p>",
            "<div class=nav>",
            "</div>",
            "<li>",
            "<ul>",
            "</ul>",
            "<table>",
            "<tr>",
            "<td>",
            "</tr>",
            "</table>",
            "<pre>",
            "</pre>",
            "<a href='x y'>",
            "<a href=\"/b",
            "</a>",
            "<h1>",
            "</h1>",
            "<title>",
            "<script>",
            "</script>",
            "<style>",
            "<!--",
            "-->",
            "<![CDATA[",
            "]]>",
            "<form method=get>",
            "<input name=q>",
            "</form>",
            "<main>",
            "</main>",
            "<br/>",
            "<",
            ">",
            "\"",
            "'",
            "&lt;",
            "&",
            "&#x41;",
            "<svg>",
            "</svg>",
            "<nav>",
            "</nav>",
            "\n",
            "\r",
            "</",
            "<3",
            "=",
            "<img alt=z>",
        ])
        .prop_map(str::to_owned),
    ];
    proptest::collection::vec(piece, 0..60).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_invented_whatever_the_page(body in soup(), most in 0usize..400) {
        let text = format!("<!doctype html>{body}");
        let Some(found) = digest(&text, most) else { return Ok(()) };
        prop_assert!(found.text.len() <= most && found.text.len() < text.len());
        let decoded = text.replace("&lt;", "<").replace("&#x41;", "A");
        // Words may be joined where only markup was between them.
        let in_order = |word: &str| {
            let mut source = decoded.chars();
            word.chars().all(|c| source.any(|other| other == c))
        };
        for word in words(&found.text) {
            prop_assert!(in_order(&word), "{word} in {text:?}");
        }
        let mut end = 0;
        for span in &found.left {
            prop_assert!(span.start >= end && text.get(span.clone()).is_some());
            end = span.end;
        }
        prop_assert_eq!(digest(&text, most), Some(found));
    }
}
