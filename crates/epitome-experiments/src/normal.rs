//! The normal distribution and the one of chi-squared, as far as they are needed here.
//!
//! Invariant: good to seven digits, which is more than any figure that is shown.

/// The chance that a standard normal variable is at most this.
pub(crate) fn normal_cdf(x: f64) -> f64 {
    let half = gamma_above(0.5, x * x / 2.0) / 2.0;
    if x > 0.0 { 1.0 - half } else { half }
}

/// The chance that chi-squared of so many degrees exceeds this.
pub(crate) fn chi_squared_above(degrees: usize, x: f64) -> f64 {
    gamma_above(degrees as f64 / 2.0, x / 2.0)
}

/// The upper part of the incomplete gamma function, as a share of the whole.
fn gamma_above(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let scale = (a * x.ln() - x - ln_gamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum) = (1.0 / a, 1.0 / a);
        for step in 1..500 {
            term *= x / (a + f64::from(step));
            sum += term;
            if term < sum * 1e-12 {
                break;
            }
        }
        return (1.0 - scale * sum).clamp(0.0, 1.0);
    }
    // The continued fraction, by the method of Lentz.
    let tiny = f64::MIN_POSITIVE / f64::EPSILON;
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / tiny, 1.0 / b);
    let mut fraction = d;
    for step in 1..500 {
        let step = f64::from(step);
        let by = -step * (step - a);
        b += 2.0;
        d = (by * d + b).recip();
        c = b + by / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < 1e-12 {
            break;
        }
    }
    (scale * fraction).clamp(0.0, 1.0)
}

/// The logarithm of the gamma function, by the series of Lanczos.
fn ln_gamma(x: f64) -> f64 {
    const SERIES: [f64; 6] = [
        76.180_091_729_471_46,
        -86.505_320_329_416_77,
        24.014_098_240_830_91,
        -1.231_739_572_450_155,
        0.120_865_097_386_617_9e-2,
        -0.539_523_938_495_3e-5,
    ];
    let base = x + 5.5;
    let places = SERIES.iter().zip(1..);
    let sum: f64 = places.map(|(part, place)| part / (x + f64::from(place))).sum();
    (x + 0.5) * base.ln() - base
        + (2.506_628_274_631_000_5 * (1.000_000_000_190_015 + sum) / x).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_say_the_same() {
        let check = |found: f64, expected: f64| {
            assert!((found - expected).abs() < 1e-6, "{found} and {expected}");
        };
        check(normal_cdf(0.0), 0.5);
        check(normal_cdf(1.959_964), 0.975);
        check(normal_cdf(-1.0), 0.158_655_3);
        check(normal_cdf(4.0), 0.999_968_3);
        check(chi_squared_above(1, 3.841_459), 0.05);
        check(chi_squared_above(2, 13.815_511), 0.001);
        check(chi_squared_above(3, 1.0), 0.801_252);
        check(chi_squared_above(2, 0.0), 1.0);
    }
}
