//! Waits of clients and servers that another thread, a signal, or neither of them ends.
#![cfg(not(loom))]

mod common;

use std::task::Poll;
use std::time::Duration;

use common::Scratch;
use common::messages::Pose;
use situ_bus::{
    AnswerError, CallError, Client, Interrupted, Interrupter, PublishError, ReceiveReplyError,
    ReceiveRequestError, ReplyError, Server, Wait,
};

/// Long enough for a busy machine.
const LONG: Duration = Duration::from_secs(30);

fn both(scratch: &Scratch, stop: &Interrupter) -> (Client<Pose, Pose>, Server<Pose, Pose>) {
    let server = scratch.node("server").server("poses").depth(2).interrupted_by(stop).create().unwrap();
    (scratch.node("client").client("poses").depth(2).interrupted_by(stop).create().unwrap(), server)
}

/// Interrupts all waits from another thread, while `wait` waits, and resets the interrupter.
fn interrupted<R>(stop: &Interrupter, wait: impl FnOnce() -> R) -> R {
    let ended = std::thread::scope(|scope| {
        let other = stop.clone();
        scope.spawn(move || {
            std::thread::sleep(Duration::from_millis(10));
            other.interrupt();
        });
        wait()
    });
    stop.reset();
    ended
}

fn by_interrupter(error: &ReceiveReplyError) -> bool {
    matches!(error, ReceiveReplyError::Reply(ReplyError::Interrupted(Interrupted::ByInterrupter)))
}

#[test]
fn a_thread_ends_the_waits_of_a_client() {
    let (scratch, stop) = (Scratch::new(), Interrupter::new());
    let lonely = scratch.node("lonely").client::<Pose, Pose>("nobody").create().unwrap();
    let forever = Wait::for_ever().until(&stop);
    let by_interrupter_alone = Err(Interrupted::ByInterrupter);
    assert_eq!(interrupted(&stop, || lonely.wait_for_server_with(forever)), by_interrupter_alone);
    assert_eq!(interrupted(&stop, || lonely.raw().wait_with(forever)), by_interrupter_alone);
    assert_eq!(lonely.wait_for_server_with(Wait::at_most(Duration::from_millis(1)).until(&stop)), Ok(false));

    let (client, server) = both(&scratch, &stop);
    assert_eq!(client.wait_for_server_with(forever), Ok(true));
    let mut call = client.call(&Pose::default()).unwrap();
    assert!(by_interrupter(&interrupted(&stop, || call.wait_with(forever)).unwrap_err()));
    assert!(by_interrupter(&interrupted(&stop, || call.next_with(forever)).unwrap_err()));
    assert_eq!(interrupted(&stop, || client.raw().wait_with(forever)), by_interrupter_alone);
    let soon = Wait::at_most(Duration::from_millis(1)).until(&stop);
    assert!(call.wait_with(soon).unwrap().is_none());
    assert!(matches!(call.next_with(soon), Ok(Poll::Pending)));

    // The call is still under way. An interrupted wait ends even if the reply is there.
    let request = server.recv(Some(LONG)).unwrap().unwrap();
    server.part(&request, &Pose { count: 7, ..Pose::default() }).unwrap();
    server.reply(&request, &Pose { count: 8, ..Pose::default() }).unwrap();
    stop.interrupt();
    assert!(by_interrupter(&call.wait_with(forever).unwrap_err()));
    assert_eq!(client.raw().wait_with(forever), by_interrupter_alone);
    stop.reset();
    assert_eq!(call.wait_with(forever).unwrap().unwrap().count, 7);
    let Poll::Ready(Some(last)) = call.next_with(forever).unwrap() else { panic!("it is there") };
    assert_eq!(last.count, 8);
    assert!(matches!(call.next_with(forever), Ok(Poll::Ready(None))));

    drop(call);
    let mut client = client.with_callbacks();
    let dispatched = interrupted(&stop, || client.dispatch_with(forever));
    assert!(matches!(dispatched, Err(ReplyError::Interrupted(Interrupted::ByInterrupter))));
}

#[test]
fn a_thread_ends_the_waits_of_a_server() {
    let (scratch, stop) = (Scratch::new(), Interrupter::new());
    let (client, server) = both(&scratch, &stop);
    let forever = Wait::for_ever().until(&stop);
    let by_interrupter_alone = Err(Interrupted::ByInterrupter);
    assert_eq!(interrupted(&stop, || server.raw().wait_with(forever)), by_interrupter_alone);
    let received = interrupted(&stop, || server.recv_with(forever).map(|_| ()));
    assert!(matches!(received, Err(ReceiveRequestError::Interrupted(Interrupted::ByInterrupter))));
    let served = interrupted(&stop, || server.serve_with(forever, |request| Ok(**request)));
    assert!(matches!(served, Err(ReceiveRequestError::Interrupted(Interrupted::ByInterrupter))));

    let call = client.call(&Pose { count: 3, ..Pose::default() }).unwrap();
    assert_eq!(server.raw().wait_with(forever), Ok(true));
    assert_eq!(server.serve_with(forever, |request| Ok(**request)).unwrap(), 1);
    assert_eq!(call.wait().unwrap().count, 3);
    // With a client that it has answered, a server that waits looks after it from time to time.
    assert_eq!(interrupted(&stop, || server.raw().wait_with(forever)), by_interrupter_alone);
}

#[test]
fn a_thread_ends_the_waits_for_room() {
    let (scratch, stop) = (Scratch::new(), Interrupter::new());
    let (client, server) = both(&scratch, &stop);
    // The server takes nothing.
    let calls: Vec<_> = (0..2).map(|_| client.call(&Pose::default()).unwrap()).collect();
    let full = interrupted(&stop, || client.loan().unwrap().send_within(LONG).map(|_| ()));
    assert!(matches!(full, Err(CallError::Publish(PublishError::Interrupted { .. }))), "{full:?}");
    // The client takes nothing.
    let request = server.recv(Some(LONG)).unwrap().unwrap();
    (0..2).for_each(|_| server.loan(&request).unwrap().send_part().unwrap());
    let full = interrupted(&stop, || server.loan(&request).unwrap().send_part_within(LONG));
    assert!(matches!(full, Err(AnswerError::Publish(PublishError::Interrupted { .. }))), "{full:?}");
    drop(calls);
}

extern "C" fn nothing(_: libc::c_int) {}

#[test]
fn a_signal_ends_a_wait_that_wants_it() {
    let (scratch, stop) = (Scratch::new(), Interrupter::new());
    // SAFETY: all zeroes are a valid action without flags, and the handler does nothing.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as *const () as usize;
        assert_eq!(libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut()), 0);
    }
    let (client, server) = both(&scratch, &stop);
    let lonely = scratch.node("lonely").client::<Pose, Pose>("nobody").create().unwrap();
    // SAFETY: the call returns this thread's number.
    let me = unsafe { libc::pthread_self() };
    let done = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(std::sync::atomic::Ordering::SeqCst) {
                // SAFETY: the thread lives until this one is joined, and the signal has a handler.
                unsafe { libc::pthread_kill(me, libc::SIGUSR1) };
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let how = Wait::at_most(LONG).until_a_signal();
        let mut call = client.call(&Pose::default()).unwrap();
        assert_eq!(lonely.wait_for_server_with(how), Err(Interrupted::BySignal));
        assert_eq!(client.raw().wait_with(how), Err(Interrupted::BySignal));
        let ended = call.wait_with(how).unwrap_err();
        assert!(
            matches!(ended, ReceiveReplyError::Reply(ReplyError::Interrupted(Interrupted::BySignal))),
            "{ended}"
        );
        drop(server.recv(Some(LONG)).unwrap().unwrap());
        assert_eq!(server.raw().wait_with(how), Err(Interrupted::BySignal));
        // Other waits go on.
        let soon = Some(Duration::from_millis(20));
        assert_eq!((lonely.wait_for_server(soon), server.raw().wait(soon)), (false, false));
        done.store(true, std::sync::atomic::Ordering::SeqCst);
    });
}
