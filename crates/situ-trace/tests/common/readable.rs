//! Rules that every trace keeps after it is read.

use situ_trace::reader::{ReadTrace, SliceEnd, TraceSummary};

/// Reads a trace, and checks the rules.
pub fn check(bytes: &[u8]) -> ReadTrace {
    let trace = ReadTrace::read(bytes);
    let (begin, end) = trace.span();
    assert!(begin <= end);
    for slice in &trace.slices {
        assert!(slice.track < trace.tracks.len());
        assert!(slice.begin_ns >= begin);
        if let SliceEnd::At(at) = slice.end {
            assert!(slice.begin_ns <= at && at <= end);
        }
    }
    assert!(trace.slices.is_sorted_by_key(|slice| slice.begin_ns));
    assert!(trace.tracks.iter().all(|track| track.process.is_none_or(|index| index < trace.processes.len())));
    assert!(trace.samples.iter().all(|sample| sample.track < trace.tracks.len()));
    let summary = TraceSummary::of(&trace);
    assert_eq!(summary.names.iter().map(|name| name.count).sum::<u64>(), trace.slices.len() as u64);
    trace
}
