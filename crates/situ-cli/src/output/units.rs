//! Formats numbers for readers: times, sizes, rates.

/// Formats a time in the unit that leaves three or four digits: `212 ns`, `4.21 µs`, `1.50 s`.
pub fn duration(ns: u64) -> String {
    match ns {
        0..1_000 => format!("{ns} ns"),
        1_000..1_000_000 => format!("{} µs", three(ns as f64 / 1e3)),
        1_000_000..1_000_000_000 => format!("{} ms", three(ns as f64 / 1e6)),
        1_000_000_000..120_000_000_000 => format!("{} s", three(ns as f64 / 1e9)),
        _ => {
            let seconds = ns / 1_000_000_000;
            format!("{} min {} s", seconds / 60, seconds % 60)
        }
    }
}

/// Formats a size in binary units: `512 B`, `1.21 MiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 6] = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let mut value = count as f64 / 1024.0;
    let mut unit = 0;
    // 1023.95 would print as "1024", so it uses the next unit.
    while value >= 1023.5 && unit + 1 < UNITS.len() {
        value /= 1024.0;
        unit += 1;
    }
    format!("{} {}", three(value), UNITS[unit])
}

/// Formats messages per second: `9.98 Hz`, `1.20 kHz`.
pub fn hertz(rate: f64) -> String {
    if !rate.is_finite() {
        return "-".into();
    }
    match rate {
        r if r < 1e3 => format!("{} Hz", three(r)),
        r if r < 1e6 => format!("{} kHz", three(r / 1e3)),
        r => format!("{} MHz", three(r / 1e6)),
    }
}

/// Formats bytes per second.
pub fn bandwidth(bytes_per_second: f64) -> String {
    if !bytes_per_second.is_finite() {
        return "-".into();
    }
    format!("{}/s", bytes(bytes_per_second.max(0.0) as u64))
}

/// Formats three significant digits without an exponent.
fn three(value: f64) -> String {
    match value {
        v if v < 9.995 => format!("{v:.2}"),
        v if v < 99.95 => format!("{v:.1}"),
        v => format!("{v:.0}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        assert_eq!(duration(0), "0 ns");
        assert_eq!(duration(999), "999 ns");
        assert_eq!(duration(1_234), "1.23 µs");
        assert_eq!(duration(98_765), "98.8 µs");
        assert_eq!(duration(12_345_678), "12.3 ms");
        assert_eq!(duration(1_500_000_000), "1.50 s");
        assert_eq!(duration(200_000_000_000), "3 min 20 s");
    }

    #[test]
    fn sizes() {
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(275_808), "269 KiB");
        assert_eq!(bytes(1024 * 1024 - 1), "1.00 MiB");
        assert_eq!(bytes(7 << 30), "7.00 GiB");
        assert_eq!(bytes(u64::MAX), "16.0 EiB");
    }

    #[test]
    fn rates() {
        assert_eq!(hertz(9.98), "9.98 Hz");
        assert_eq!(hertz(1234.0), "1.23 kHz");
        assert_eq!(hertz(f64::NAN), "-");
        assert_eq!(bandwidth(2048.0), "2.00 KiB/s");
    }
}
