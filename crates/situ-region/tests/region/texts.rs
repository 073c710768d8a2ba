//! Errors have the texts of `spec/vectors/region/errors.txt`, which the C++ tests read, too.

use situ_region::{BufferError, Full, InvalidProblem, MoveError, ShareError};

use super::VECTORS;

/// The text of an error with the two numbers that C++ keeps with it; none for an unknown name.
fn text(name: &str, found: u64, limit: u64) -> Option<String> {
    use InvalidProblem as P;
    let [f32, l32] = [found, limit].map(|it| it as u32);
    let kitchen = || "Kitchen".to_owned();
    let problem = match name.strip_prefix("problem.") {
        None => return fault(name.strip_prefix("fault.")?, found, limit),
        Some("too_small") => P::TooSmall { found, least: limit },
        Some("misaligned") => P::MisalignedImage,
        Some("not_a_region") => P::NotARegion,
        Some("wrong_version") => P::OtherFormat { found: found as u16, here: limit as u16 },
        Some("wrong_form") => P::UnknownForm { form: found as u8 },
        Some("not_packed") => P::NotPacked { form: found as u8 },
        Some("bad_length") => P::BadLength { at: f32 },
        Some("wrong_schema") => P::OtherType { name: kitchen(), which: "schema", found, wanted: limit },
        Some("wrong_layout") => P::OtherType { name: kitchen(), which: "layout", found, wanted: limit },
        Some("wrong_size") => P::WrongSize { found: f32, there: limit },
        Some("outside") => P::Outside { to: i64::from(f32), size: l32 },
        Some("misplaced") => P::Misplaced { to: i64::from(f32), wanted: l32 },
        Some("unaligned_link") => P::Unaligned { to: f32 },
        Some("overlap") => P::Overlap { to: f32 },
        Some("wrong_back_link") => P::WrongBackLink { found: found as i32 },
        Some("too_long") => P::TooLong { len: f32, cap: l32 },
        Some("not_trimmed") => P::NotTrimmed { found: f32, wanted: l32 },
        Some("not_a_bool") => P::NotABool { value: found as u8 },
        Some("not_utf8") => P::NotUtf8 { valid_up_to: found as usize },
        Some("not_sorted") => P::NotSorted { index: f32 },
        Some("not_hashed") => P::NotHashed { entry: f32 },
        Some("wrong_count") => P::WrongCount { len: f32, occupied: l32 },
        Some("wrong_seed") => P::WrongSeed { seed: f32 },
        Some("wrong_levels") => P::WrongLevels { found: f32, wanted: l32 },
        Some("wrong_node") => {
            P::BadNode { len: f32, cap: (found >> 32) as u32, least: l32, most: (limit >> 32) as u32 }
        }
        Some("wrong_tree") => P::WrongTotal { len: f32, found: l32 },
        Some("holds_itself") => P::Cycle { to: f32 },
        Some("shared_type") => P::OtherShared { to: f32 },
        Some("shared_count") => P::WrongLinks { count: f32, found: l32 },
        Some("weak_target") => P::WeakTarget { to: f32 },
        Some("weak_count") => P::WrongWeakLinks { count: f32, found: l32 },
        Some("bad_versions") => P::BadVersions { at: f32 },
        Some("other_history") => P::OtherHistory { name: "Kitchen", number: f32, member: "when" },
        Some("other_version") => P::OtherVersion { name: "Kitchen", found: f32, here: l32 },
        Some("not_zero") => P::NotZero { at: f32 },
        Some("left_over") => P::LeftOver { size: f32, end: l32 },
        Some("no_memory") if limit == 0 => P::NoMemory { bytes: found },
        // C++ calls an adoption without enough room so; in Rust it is an error of the memory.
        Some("no_memory") => return fault("small", limit, found),
        Some(_) => return None,
    };
    Some(problem.to_string())
}

fn fault(name: &str, found: u64, limit: u64) -> Option<String> {
    Some(match name {
        "full" => {
            let full = Full { limit: limit as u32 };
            assert_eq!(ShareError::from(full).to_string(), full.to_string());
            assert_eq!(MoveError::from(full).to_string(), full.to_string());
            full.to_string()
        }
        "cycle" => ShareError::Cycle.to_string(),
        "far_link" => ShareError::OtherRegion.to_string(),
        "too_many" => ShareError::TooMany.to_string(),
        "inside" => MoveError::Inside.to_string(),
        "apart" => MoveError::OtherRegion.to_string(),
        "nothing" => MoveError::Nothing.to_string(),
        "misaligned" => BufferError::Misaligned.to_string(),
        "small" => BufferError::TooSmall { found: found as usize, least: limit as usize }.to_string(),
        _ => return None,
    })
}

#[test]
fn errors_have_the_texts_that_they_have_in_cpp() {
    let lines = std::fs::read_to_string(format!("{VECTORS}/errors.txt")).unwrap();
    for line in lines.lines() {
        let words: Vec<&str> = line.splitn(5, ' ').collect();
        let [language, name, found, limit, wanted] = words[..] else { panic!("{line}") };
        let here = text(name, found.parse().unwrap(), limit.parse().unwrap());
        let wanted = (language != "cpp").then_some(wanted);
        assert_eq!(here.as_deref(), wanted, "{name}");
    }
}
