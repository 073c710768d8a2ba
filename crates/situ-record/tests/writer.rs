//! Writers whose process forks, and whose file fails.

use std::sync::{Mutex, PoisonError};

use rustix::fs::{CWD, FileType, Mode, mknodat};
use situ_record::{Reader, WriteError, Writer, WriterOptions};
use situ_testkit::Scratch;

/// One test at a time: a forked child would keep the other test's pipe open.
static ALONE: Mutex<()> = Mutex::new(());

fn writer(path: &std::path::Path, options: WriterOptions) -> (Writer, u16) {
    let mut writer = Writer::create(path, options).unwrap();
    let channel = writer.channel(0, "/a", "cdr", Default::default()).unwrap();
    (writer, channel)
}

#[test]
fn a_forked_child_does_not_write_into_the_file_of_its_parent() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::created("forked");
    let path = scratch.path().join("parent.mcap");
    for compression in [situ_record::Compression::None, situ_record::Compression::Zstd] {
        let options = || WriterOptions { overwrite: true, compression, ..WriterOptions::default() };
        let (mut parent, channel) = writer(&path, options());
        let (dropped, _) = writer(&scratch.path().join("dropped.mcap"), options());
        parent.message(channel, 0, 1, 1, &[0, 1, 0, 0, 7]).unwrap();
        // SAFETY: the child calls functions that any program may call, and no other thread of this process
        // holds a lock that it needs.
        let child = unsafe { libc::fork() };
        assert!(child >= 0);
        if child == 0 {
            let run = std::panic::AssertUnwindSafe(|| {
                drop(dropped);
                assert!(matches!(parent.flush_and_wait(), Err(WriteError::Forked(_))));
                let added = parent.message(channel, 1, 2, 2, &[0; 8]);
                assert!(matches!(added, Err(WriteError::Forked(_))));
                let added = parent.attachment("a", "b", (0, 0), vec![0; 8]);
                assert!(matches!(added, Err(WriteError::Forked(_))));
                assert!(matches!(parent.metadata("a", Default::default()), Err(WriteError::Forked(_))));
                let written = parent.finish();
                assert!(matches!(written.error, Some(WriteError::Forked(_))) && written.unwritten == 0);
            });
            let ran = std::panic::catch_unwind(run);
            // SAFETY: it ends the child at once, without the destructors of its parent.
            unsafe { libc::_exit(i32::from(ran.is_err())) };
        }
        let mut status = 0;
        // SAFETY: the status is valid for writes.
        assert_eq!(unsafe { libc::waitpid(child, &mut status, 0) }, child);
        assert_eq!(status, 0);
        assert!(parent.finish().error.is_none());
        assert_eq!(Reader::open(&path).unwrap().statistics().messages, 1);
    }
}

#[test]
fn a_writer_whose_file_failed_does_not_wait_for_it() {
    let _alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
    let scratch = Scratch::created("failed");
    let path = scratch.path().join("pipe");
    mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    // A pipe without a reader is a file that cannot be written. It gets its first bytes before.
    let reader = std::thread::spawn({
        let path = path.clone();
        move || std::fs::File::open(path).unwrap()
    });
    let options = WriterOptions { overwrite: true, queue_bytes: 1_000, ..WriterOptions::default() };
    let (mut writer, channel) = writer(&path, options);
    drop(reader.join().unwrap());
    writer.message(channel, 0, 1, 1, &[0; 100]).unwrap();
    assert!(matches!(writer.flush_and_wait(), Err(WriteError::Write { .. })));
    // Each of these would fill the queue.
    for _ in 0..2 {
        writer.attachment("a", "b", (0, 0), vec![0; 800]).unwrap();
    }
    assert!(matches!(writer.flush_and_wait(), Err(WriteError::Write { .. })));
    let written = writer.finish();
    assert_eq!(written.unwritten, 1);
    assert!(matches!(written.error, Some(WriteError::Write { .. })));
}
