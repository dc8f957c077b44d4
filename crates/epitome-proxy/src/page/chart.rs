//! The drawings of the page: bars and curves, as SVG in the page itself.
//!
//! Invariant: a drawing says nothing that does not stand beside it in figures; colours are the style
//! sheet's.

/// The size of a curve, in its own units.
const CURVE: [f64; 2] = [120.0, 28.0];

/// Two bars of tokens, as they came and as they were sent, against the longest of all bars.
pub(super) fn bars([raw, sent]: [u64; 2], longest: u64) -> String {
    let width = |tokens: u64| {
        let share = tokens as f64 * 100.0 / longest.max(1) as f64;
        // What is there can be seen.
        if tokens > 0 { share.max(0.4) } else { 0.0 }
    };
    let bar = |class: &str, y: u32, tokens: u64| {
        let width = width(tokens);
        format!(r#"<rect class="{class}" y="{y}" width="{width:.2}%" height="8" rx="2"/>"#)
    };
    let (raw, sent) = (bar("raw", 1, raw), bar("sent", 12, sent));
    format!(r#"<svg class="bars" aria-hidden="true">{raw}{sent}</svg>"#)
}

/// Tokens of requests in a row: as they came, a line; as they were sent, an area below it.
pub(super) fn curve(requests: impl ExactSizeIterator<Item = [u64; 2]> + Clone) -> String {
    let [width, height] = CURVE;
    let steps = requests.len().saturating_sub(1);
    if steps == 0 {
        return String::new();
    }
    let most = requests.clone().flatten().max().unwrap_or_default().max(1) as f64;
    let points = |side: usize| {
        let point = |(at, tokens): (usize, [u64; 2])| {
            let x = at as f64 * width / steps as f64;
            let y = height - 1.0 - tokens[side] as f64 * (height - 3.0) / most;
            format!("{x:.1},{y:.1}")
        };
        requests.clone().enumerate().map(point).collect::<Vec<_>>().join(" ")
    };
    let (raw, sent) = (points(0), points(1));
    let frame = format!(r#"viewBox="0 0 {width} {height}" preserveAspectRatio="none""#);
    let area = format!(r#"<polygon class="area" points="0,{height} {sent} {width},{height}"/>"#);
    let line =
        |class: &str, points: &str| format!(r#"<polyline class="{class}" points="{points}"/>"#);
    let (raw, sent) = (line("raw", &raw), line("sent", &sent));
    format!(r#"<svg class="curve" {frame} aria-hidden="true">{area}{raw}{sent}</svg>"#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_measured_by_the_longest() {
        let drawn = bars([500, 100], 1_000);
        assert!(drawn.contains(r#"class="raw" y="1" width="50.00%""#), "{drawn}");
        assert!(drawn.contains(r#"class="sent" y="12" width="10.00%""#), "{drawn}");
        assert!(bars([1, 0], 1_000_000).contains(r#"width="0.40%""#));
        assert!(bars([0, 0], 0).contains(r#"width="0.00%""#));
    }

    #[test]
    fn a_curve_goes_from_edge_to_edge() {
        let drawn = curve([[0, 0], [50, 25], [100, 50]].into_iter());
        assert!(drawn.contains(r#"points="0.0,27.0 60.0,14.5 120.0,2.0""#), "{drawn}");
        assert!(drawn.contains(r#"points="0,28 0.0,27.0 60.0,20.8 120.0,14.5 120,28""#), "{drawn}");
        assert_eq!(curve([[1, 1]].into_iter()), "");
    }
}
