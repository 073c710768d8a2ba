//! Numbers as text with units.

/// A size as text: `64 B`, `4 MiB`.
pub fn size(bytes: usize) -> String {
    match bytes {
        _ if bytes >= 1 << 20 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
        _ if bytes >= 1 << 10 && bytes.is_multiple_of(1 << 10) => format!("{} KiB", bytes >> 10),
        _ => format!("{bytes} B"),
    }
}

/// A value with a suitable unit.
pub fn quantity(metric: &str, value: f64) -> String {
    if value < 0.0 {
        format!("-{}", quantity(metric, -value))
    } else if metric.ends_with("_ns") {
        match value {
            v if v < 100.0 => format!("{v:.1} ns"),
            v if v < 1e3 => format!("{v:.0} ns"),
            v if v < 1e4 => format!("{:.2} us", v / 1e3),
            v if v < 1e6 => format!("{:.1} us", v / 1e3),
            v => format!("{:.2} ms", v / 1e6),
        }
    } else if metric.ends_with("_ms") {
        format!("{value:.2} ms")
    } else if metric.ends_with("_mib") {
        format!("{value:.1} MiB")
    } else if metric.ends_with("bytes") {
        format!("{value:.0}")
    } else if metric.starts_with("msg_per_s") {
        match value {
            v if v < 1e6 => format!("{:.1} k/s", v / 1e3),
            v => format!("{:.2} M/s", v / 1e6),
        }
    } else {
        let text = format!("{value:.2}");
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::{quantity, size};

    #[test]
    fn units() {
        assert_eq!(size(64), "64 B");
        assert_eq!(size(64 << 10), "64 KiB");
        assert_eq!(size(4 << 20), "4 MiB");
        assert_eq!(quantity("p50_ns", 212.4), "212 ns");
        assert_eq!(quantity("p50_ns", 12_340.0), "12.3 us");
        assert_eq!(quantity("delta_ns", -12_340.0), "-12.3 us");
        assert_eq!(quantity("msg_per_s", 3_210_000.0), "3.21 M/s");
        assert_eq!(quantity("open_files", 46.0), "46");
    }
}
