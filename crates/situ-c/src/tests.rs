//! Header and library agree, the hot path does not allocate, and no panic unwinds.

use std::collections::BTreeSet;
use std::ffi::{CStr, CString, c_char, c_void};
use std::mem::{MaybeUninit, offset_of};
use std::path::Path;
use std::process::Command;
use std::ptr::{null, null_mut};

use situ_bus::EndpointRole;
use situ_testkit::Scratch;
use situ_testkit::allocator::{Calls, CountingAllocator, counting};

use situ_trace::Severity;

use crate::batch::*;
use crate::blackboard;
use crate::client::*;
use crate::device::{situ_fence, situ_fence_state, situ_span};
use crate::error::{Failure, TEXT_SIZE, guard, situ_error, situ_status};
use crate::event::*;
use crate::executor::situ_callback;
use crate::graph::{situ_endpoint_info, situ_graph_node};
use crate::inspect::{situ_node_info, situ_topic_info, situ_wait_info};
use crate::interrupt::situ_waiting;
use crate::lender::*;
use crate::loan::{situ_loan, situ_loan_discard};
use crate::memory::{situ_memory_options, situ_page_answer, situ_pages};
use crate::node::{situ_node, situ_node_create, situ_node_destroy, situ_node_options};
use crate::publisher::*;
use crate::record_reader::*;
use crate::record_writer::*;
use crate::server::*;
use crate::service::*;
use crate::subscriber::*;
use crate::timer::{situ_timer_call, situ_timer_state};
use crate::trace::{
    BEGIN, END, INSTANT, MAX_ARGUMENTS, MAX_NESTED, situ_trace_argument, situ_trace_category,
    situ_trace_counter, situ_trace_event, situ_trace_log_message, situ_trace_name, situ_trace_track,
};
use crate::types::*;
use crate::wait_set::*;

#[global_allocator]
static ALLOCATOR: CountingAllocator = CountingAllocator;

/// The numbers of the interface, as lines of `expression value`.
fn numbers_in_rust() -> Vec<(String, i128)> {
    let mut numbers = Vec::new();
    let mut number = |expression: &str, value: usize| numbers.push((expression.to_owned(), value as i128));
    macro_rules! structure {
        ($name:ident { $($field:ident),* }) => {
            number(concat!("sizeof(", stringify!($name), ")"), size_of::<$name>());
            number(concat!("_Alignof(", stringify!($name), ")"), align_of::<$name>());
            $(number(
                concat!("offsetof(", stringify!($name), ", ", stringify!($field), ")"),
                offset_of!($name, $field),
            );)*
        };
    }
    structure!(situ_error { status, text });
    structure!(situ_root { path, group, graph_domain });
    structure!(situ_record_summary {
        profile,
        library,
        size,
        messages,
        start_time,
        end_time,
        channels,
        problems,
        is_complete
    });
    structure!(situ_record_channel {
        topic,
        type_name,
        message_encoding,
        schema,
        problem,
        schema_hash,
        publisher,
        node,
        messages,
        encoding
    });
    structure!(situ_record_filter { topics, topic_count, start_time, end_time });
    structure!(situ_record_message { data, size, log_time, publish_time, channel, sequence });
    structure!(situ_record_writer_options {
        compression,
        threads,
        checksums,
        overwrite,
        chunk_size,
        queue_size
    });
    structure!(situ_record_written { messages, size, unwritten });
    structure!(situ_node_options { root, node_namespace, user_data, user_data_size });
    structure!(situ_graph_node { id, name, node_namespace, program, user_data, user_data_size, pid });
    structure!(situ_endpoint_info {
        id,
        role,
        encoding,
        name,
        type_name,
        domain,
        schema_hash,
        layout_hash,
        reliability,
        durability,
        depth,
        deadline_ns,
        lifespan_ns,
        lease_ns,
        liveliness,
        user_data,
        user_data_size
    });
    number("SITU_MAX_USER_DATA", situ_bus::MAX_USER_DATA);
    number("SITU_DEFAULT_DOMAIN", DEFAULT_DOMAIN as usize);
    number("SITU_ROLE_PUBLISHER", EndpointRole::Publisher as usize);
    number("SITU_ROLE_SUBSCRIBER", EndpointRole::Subscriber as usize);
    number("SITU_ROLE_CLIENT", EndpointRole::Client as usize);
    number("SITU_ROLE_SERVER", EndpointRole::Server as usize);
    structure!(situ_type { name, schema, schema_hash, layout_hash, encoding, fixed_size, user_header_size });
    structure!(situ_publisher_qos {
        reliability,
        durability,
        depth,
        block_ns,
        deadline_ns,
        lifespan_ns,
        without_stamps,
        trim_above,
        user_data,
        user_data_size,
        liveliness,
        best_available,
        lease_ns
    });
    structure!(situ_matched_status { total_count, total_count_change, current_count, current_count_change });
    structure!(situ_incompatible_qos_status { total_count, total_count_change, last_policy, policies });
    structure!(situ_deadline_missed_status { total_count, total_count_change });
    structure!(situ_liveliness_lost_status { total_count, total_count_change });
    structure!(situ_messages_lost_status { total_count, total_count_change });
    structure!(situ_liveliness_changed_status {
        alive_count,
        not_alive_count,
        alive_count_change,
        not_alive_count_change
    });
    number("sizeof(situ_event_status)", size_of::<situ_event_status>());
    for (name, kind) in [
        ("MATCHED", MATCHED),
        ("INCOMPATIBLE_QOS", INCOMPATIBLE_QOS),
        ("DEADLINE_MISSED", DEADLINE_MISSED),
        ("LIVELINESS_LOST", LIVELINESS_LOST),
        ("LIVELINESS_CHANGED", LIVELINESS_CHANGED),
        ("MESSAGES_LOST", MESSAGES_LOST),
    ] {
        number(&format!("SITU_EVENT_{name}"), kind as usize);
    }
    number("SITU_WRITER_ALIVE", blackboard::ALIVE as usize);
    number("SITU_WRITER_DEAD", blackboard::DEAD as usize);
    number("SITU_WRITER_LEFT", blackboard::LEFT as usize);
    for policy in situ_bus::QosPolicy::ALL {
        number(&format!("SITU_POLICY_{}", policy.name().to_uppercase()), policy as usize);
    }
    for (index, name) in [
        "DEFAULT",
        "SENSOR_DATA",
        "SERVICES",
        "PARAMETERS",
        "PARAMETER_EVENTS",
        "SYSTEM_DEFAULT",
        "BEST_AVAILABLE",
    ]
    .into_iter()
    .enumerate()
    {
        number(&format!("SITU_PROFILE_{name}"), index);
    }
    structure!(situ_placement { domain, capacity, eager_copies, strategy, serialized });
    structure!(situ_memory_options { fixed_slots, slot_size, huge_pages, prefer_node, node });
    structure!(situ_pages { huge, huge_errno, huge_bytes, node, node_errno });
    number("SITU_FIXED_SLOTS", FIXED_SLOTS as usize);
    number("SITU_RECORD_UNCOMPRESSED", situ_record_compression::Uncompressed as usize);
    number("SITU_RECORD_LZ4", situ_record_compression::Lz4 as usize);
    number("SITU_RECORD_ZSTD", situ_record_compression::Zstd as usize);
    number("SITU_PAGES_NOT_ASKED", situ_page_answer::NotAsked as usize);
    number("SITU_PAGES_DONE", situ_page_answer::Done as usize);
    number("SITU_PAGES_REFUSED", situ_page_answer::Refused as usize);
    structure!(situ_span { address, size, offset, memory_size, domain_kind, domain_number });
    structure!(situ_fence { word, value });
    number("SITU_READABLE", READABLE as usize);
    number("SITU_WRITABLE", WRITABLE as usize);
    number("SITU_CLOSED", CLOSED as usize);
    number("SITU_COMPLETE", situ_fence_state::Complete as usize);
    number("SITU_PENDING", situ_fence_state::Pending as usize);
    number("SITU_POISONED", situ_fence_state::Poisoned as usize);
    structure!(situ_waiting { timeout_ns, interrupter, until_a_signal });
    structure!(situ_timer_call { scheduled_ns, reported_ns, missed });
    structure!(situ_timer_state { period_ns, left_ns, calls, missed, last });
    structure!(situ_ready { id, io });
    structure!(situ_callback { call, release, context, parallel });
    structure!(situ_subscriber_qos {
        reliability,
        durability,
        keep_last,
        deadline_ns,
        trust,
        max_message,
        max_pool,
        max_held,
        user_data,
        user_data_size,
        liveliness,
        best_available,
        lease_ns
    });
    structure!(situ_loan { head, head_size, body, body_size, encoding });
    structure!(situ_sample {
        head,
        head_size,
        body,
        body_size,
        sequence,
        published_at_ns,
        publisher,
        encoding
    });
    structure!(situ_service_type { request, reply });
    structure!(situ_service_options {
        max_calls,
        depth,
        keep_last,
        max_held,
        max_message,
        max_pool,
        trust,
        without_stamps,
        requests,
        replies,
        user_data,
        user_data_size
    });
    structure!(situ_reply { sample, call, code, text, is_last });
    structure!(situ_request_id { node, client, call, sent_at_ns });
    structure!(situ_request { sample, id, deadline_ns });
    structure!(situ_server_statistics { clients, answered_clients, expired });
    structure!(situ_publisher_statistics {
        subscribers,
        deadlines_missed,
        slots,
        slots_in_use,
        memory_bytes
    });
    structure!(situ_subscriber_statistics {
        taken,
        lost,
        skipped,
        expired,
        deadlines_missed,
        publishers,
        next,
        published
    });
    structure!(situ_topic_info { name, type_name, schema, schema_hash, published, publishers, subscribers });
    structure!(situ_wait_info { topic, publisher, subscriber, waited_ns });
    structure!(situ_node_info { id, name, program, pid, alive });
    structure!(situ_trace_argument { name, value, length, kind, dynamic_length, dynamic_name });
    structure!(situ_trace_track { name, length, id, scope, parent });
    structure!(situ_trace_event {
        category,
        name,
        flows,
        flow_count,
        last_flows,
        last_flow_count,
        arguments,
        argument_count,
        at_ns,
        track,
        dynamic_name,
        dynamic_length,
        fields,
        fields_length
    });
    structure!(situ_trace_log_message {
        text,
        length,
        file,
        file_length,
        logger,
        logger_length,
        line,
        severity
    });
    for (name, severity) in [
        ("TRACE", Severity::Trace),
        ("DEBUG", Severity::Debug),
        ("INFO", Severity::Info),
        ("WARN", Severity::Warn),
        ("ERROR", Severity::Error),
        ("FATAL", Severity::Fatal),
    ] {
        numbers.push((format!("SITU_TRACE_SEVERITY_{name}"), severity as i128));
    }
    let mut number = |expression: &str, value: usize| numbers.push((expression.to_owned(), value as i128));
    number("sizeof(situ_trace_name)", size_of::<situ_trace_name>());
    number("sizeof(situ_trace_category)", size_of::<situ_trace_category>());
    number("offsetof(situ_trace_category, state_)", situ_trace_category::STATE_OFFSET);
    number("sizeof(situ_trace_counter)", size_of::<situ_trace_counter>());
    number("SITU_TRACE_MAX_ARGUMENTS", MAX_ARGUMENTS);
    number("SITU_TRACE_MAX_NESTED", MAX_NESTED);
    number("SITU_TRACE_KIND_BEGIN", BEGIN as usize);
    number("SITU_TRACE_KIND_END", END as usize);
    number("SITU_TRACE_KIND_INSTANT", INSTANT as usize);
    number("sizeof(situ_status)", size_of::<situ_status>());
    number("SITU_ERROR_TEXT_SIZE", TEXT_SIZE);
    number("SITU_NO_GROUP", NO_GROUP as usize);
    number("SITU_FLAT", situ_bus::Encoding::Flat as usize);
    number("SITU_XCDR1", situ_bus::Encoding::Xcdr1 as usize);
    number("SITU_XCDR2", situ_bus::Encoding::Xcdr2 as usize);
    number("SITU_REGION", situ_bus::Encoding::Region as usize);
    number("SITU_VERSION", crate::situ_version() as usize);
    for (status, name) in situ_status::ALL {
        numbers.push((name.to_string_lossy().into_owned(), status as i128));
    }
    numbers.push(("SITU_FOREVER == UINT64_MAX".to_owned(), i128::from(FOREVER == u64::MAX)));
    numbers
}

fn include_directory() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../cpp/include")
}

#[test]
fn the_header_and_the_library_agree_on_every_number() {
    let numbers = numbers_in_rust();
    let directory = Scratch::on_disk("c-header");
    let (source, program) = (directory.join("numbers.c"), directory.join("numbers"));
    let prints: String = numbers
        .iter()
        .map(|(expression, _)| format!("  printf(\"%lld\\n\", (long long)({expression}));\n"))
        .collect();
    std::fs::write(
        &source,
        format!(
            "#include <situ/blackboard.h>\n#include <situ/service.h>\n#include <situ/graph.h>\n#include <situ/memory.h>\n#include <situ/record.h>\n#include <stdio.h>\nint main(void) {{\n{prints}  return 0;\n}}\n"
        ),
    )
    .unwrap();
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"])
        .arg(include_directory())
        .arg(&source)
        .arg("-o")
        .arg(&program)
        .output()
        .unwrap();
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let printed = String::from_utf8(Command::new(&program).output().unwrap().stdout).unwrap();
    let in_c: Vec<i128> = printed.lines().map(|line| line.parse().unwrap()).collect();
    assert_eq!(in_c.len(), numbers.len());
    for ((expression, in_rust), in_c) in numbers.iter().zip(in_c) {
        assert_eq!(*in_rust, in_c, "{expression}");
    }
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let headers = [
        "situ.h",
        "situ/batch.h",
        "situ/blackboard.h",
        "situ/events.h",
        "situ/execute.h",
        "situ/graph.h",
        "situ/memory.h",
        "situ/record.h",
        "situ/service.h",
        "situ/trace.h",
    ];
    let header =
        headers.map(|name| std::fs::read_to_string(include_directory().join(name)).unwrap()).concat();
    let mut code = String::new();
    let mut rest = header.as_str();
    while let Some((before, comment)) = rest.split_once("/*") {
        code.push_str(before);
        rest = comment.split_once("*/").unwrap().1;
    }
    code.push_str(rest);
    let names_before_parenthesis = |text: &str| -> BTreeSet<String> {
        text.match_indices('(')
            .map(|(at, _)| &text[..at])
            .map(|before| {
                before.rsplit(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or("")
            })
            .filter(|name| name.starts_with("situ_"))
            .map(str::to_owned)
            .collect()
    };
    let declared = names_before_parenthesis(&code);
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let sources: Vec<String> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.ends_with("tests.rs"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let exported: BTreeSet<String> = sources
        .iter()
        .flat_map(|source| source.split("extern \"C\" fn ").skip(1))
        .filter_map(|after| after.split_once('('))
        .filter(|(name, _)| name.starts_with("situ_"))
        .map(|(name, _)| name.to_owned())
        .collect();
    assert!(exported.len() > 25);
    assert_eq!(declared, exported);
}

/// A directory of its own, with a node, a publisher and a subscriber.
struct Bench {
    // Dropped after the handles are destroyed.
    _scratch: Scratch,
    node: *mut situ_node,
    publisher: *mut situ_publisher,
    subscriber: *mut situ_subscriber,
}

impl Bench {
    fn new() -> Self {
        let scratch = Scratch::new("c-abi");
        let path = CString::new(scratch.to_str().unwrap()).unwrap();
        let root = situ_root { path: path.as_ptr(), group: NO_GROUP, graph_domain: DEFAULT_DOMAIN };
        let description = situ_type {
            name: c"test::Numbers".as_ptr(),
            schema: c"".as_ptr(),
            schema_hash: 1,
            layout_hash: 2,
            encoding: 1,
            fixed_size: 0,
            user_header_size: 0,
        };
        let mut bench =
            Self { _scratch: scratch, node: null_mut(), publisher: null_mut(), subscriber: null_mut() };
        // SAFETY: all pointers are null where the header allows it, or lead to live variables.
        unsafe {
            let status = situ_node_create(c"bench".as_ptr(), &root, &mut bench.node, null_mut());
            assert_eq!(status, situ_status::Ok);
            let (node, topic) = (bench.node, c"numbers".as_ptr());
            let out = &mut bench.publisher;
            assert_eq!(
                situ_publisher_create(node, topic, &description, null(), out, null_mut()),
                situ_status::Ok
            );
            let out = &mut bench.subscriber;
            assert_eq!(
                situ_subscriber_create(node, topic, &description, null(), out, null_mut()),
                situ_status::Ok
            );
        }
        bench
    }

    /// Publishes one number, takes it, and returns the number taken.
    fn hop(&self, value: u64) -> u64 {
        let mut loan = MaybeUninit::<situ_loan>::uninit();
        let mut sample = MaybeUninit::<situ_sample>::uninit();
        // SAFETY: the handles are live, and loan and sample are used as the header says.
        unsafe {
            let status = situ_publisher_loan(self.publisher, 8, 8, 100, loan.as_mut_ptr(), null_mut());
            assert_eq!(status, situ_status::Ok);
            (*loan.as_mut_ptr()).head.cast::<u64>().write(value);
            assert_eq!(situ_loan_publish(loan.as_mut_ptr(), null_mut(), null_mut()), situ_status::Ok);
            let status = situ_publisher_loan(self.publisher, 8, 8, 0, loan.as_mut_ptr(), null_mut());
            assert_eq!(status, situ_status::Ok);
            situ_loan_discard(loan.as_mut_ptr());
            let status = situ_subscriber_take(self.subscriber, sample.as_mut_ptr(), null_mut());
            assert_eq!(status, situ_status::Ok);
            let taken = (*sample.as_ptr()).head.cast::<u64>().read();
            situ_sample_release(sample.as_mut_ptr());
            let status = situ_subscriber_take(self.subscriber, sample.as_mut_ptr(), null_mut());
            assert_eq!(status, situ_status::Empty);
            taken
        }
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        // SAFETY: the handles are live, and not used after this.
        unsafe {
            situ_subscriber_destroy(self.subscriber);
            situ_publisher_destroy(self.publisher);
            situ_node_destroy(self.node);
        }
    }
}

#[test]
fn lending_publishing_taking_and_releasing_allocate_nothing() {
    let bench = Bench::new();
    for value in 0..100 {
        assert_eq!(bench.hop(value), value);
    }
    let (sum, calls) = counting(|| (0..1000).map(|value| bench.hop(value)).sum::<u64>());
    assert_eq!(calls, Calls::NONE);
    assert_eq!(sum, 499_500);
}

/// Adds the number of a message to the sum that `context` leads to.
unsafe extern "C" fn add_up(sample: *mut situ_sample, context: *mut c_void) -> u32 {
    // SAFETY: `take_each` passes a sample of a number, and the context that the test gave.
    unsafe { *context.cast::<u64>() += (*sample).head.cast::<u64>().read() };
    1
}

#[test]
fn batches_allocate_nothing() {
    let bench = Bench::new();
    let mut loans: [MaybeUninit<situ_loan>; 8] = [const { MaybeUninit::uninit() }; 8];
    let mut samples: [MaybeUninit<situ_sample>; 4] = [const { MaybeUninit::uninit() }; 4];
    let mut round = |value: u64| {
        let (mut published, mut last, mut taken, mut given, mut sum) = (0, 0, 0, 0, 0_u64);
        // SAFETY: the handles are live, and loans and samples are used as the header says.
        unsafe {
            for (at, loan) in loans.iter_mut().enumerate() {
                let status = situ_publisher_loan(bench.publisher, 8, 8, 100, loan.as_mut_ptr(), null_mut());
                assert_eq!(status, situ_status::Ok);
                (*loan.as_mut_ptr()).head.cast::<u64>().write(value + at as u64);
            }
            let first = loans.as_mut_ptr().cast();
            let status = situ_loan_publish_all(first, 8, &mut published, &mut last, null_mut());
            assert_eq!((status, published), (situ_status::Ok, 8));
            let into = samples.as_mut_ptr().cast();
            let status = situ_subscriber_take_many(bench.subscriber, 4, into, &mut taken, null_mut());
            assert_eq!((status, taken), (situ_status::Ok, 4));
            for sample in &mut samples {
                sum += (*sample.as_ptr()).head.cast::<u64>().read();
                situ_sample_release(sample.as_mut_ptr());
            }
            let context = (&raw mut sum).cast();
            let subscriber = bench.subscriber;
            let status =
                situ_subscriber_take_each(subscriber, 99, Some(add_up), context, &mut given, null_mut());
            assert_eq!((status, given), (situ_status::Ok, 4));
        }
        sum
    };
    for value in 0..100 {
        assert_eq!(round(value), 8 * value + 28);
    }
    let (sum, calls) = counting(|| (0..1000).map(&mut round).sum::<u64>());
    assert_eq!(calls, Calls::NONE);
    assert_eq!(sum, 8 * 499_500 + 28_000);
}

#[test]
fn calling_and_answering_allocate_nothing() {
    let bench = Bench::new();
    let described = situ_type {
        name: c"test::Number".as_ptr(),
        schema: c"".as_ptr(),
        schema_hash: 1,
        layout_hash: 2,
        encoding: 1,
        fixed_size: 8,
        user_header_size: 0,
    };
    let described = situ_service_type { request: &described, reply: &described };
    let (mut client, mut server) = (null_mut(), null_mut());
    // SAFETY: all pointers are null where the header allows it, or lead to live variables.
    unsafe {
        let (node, service) = (bench.node, c"double".as_ptr());
        let status = situ_client_create(node, service, &described, null(), &mut client, null_mut());
        assert_eq!(status, situ_status::Ok);
        let status = situ_server_create(node, service, &described, null(), &mut server, null_mut());
        assert_eq!(status, situ_status::Ok);
    }
    let mut call = |value: u64| {
        let mut loan = MaybeUninit::<situ_loan>::uninit();
        let mut request = MaybeUninit::<situ_request>::uninit();
        let mut reply = MaybeUninit::<situ_reply>::uninit();
        let mut number = 0;
        // SAFETY: the handles are live, and loans, requests and replies are used as the header says.
        unsafe {
            let status = situ_client_loan(client, 8, 8, 0, loan.as_mut_ptr(), null_mut());
            assert_eq!(status, situ_status::Ok);
            (*loan.as_mut_ptr()).head.cast::<u64>().write(value);
            let status = situ_request_send(loan.as_mut_ptr(), FOREVER, 0, &mut number, null_mut());
            assert_eq!(status, situ_status::Ok);
            assert_eq!(situ_server_take(server, request.as_mut_ptr(), null_mut()), situ_status::Ok);
            let asked = (*request.as_ptr()).sample.head.cast::<u64>().read();
            let id = &raw const (*request.as_ptr()).id;
            let status = situ_server_loan(server, id, 8, 8, 0, loan.as_mut_ptr(), null_mut());
            assert_eq!(status, situ_status::Ok);
            (*loan.as_mut_ptr()).head.cast::<u64>().write(2 * asked);
            assert_eq!(situ_reply_send(loan.as_mut_ptr(), 1, 0, null_mut()), situ_status::Ok);
            situ_request_release(request.as_mut_ptr());
            let status = situ_client_take_of(client, number, reply.as_mut_ptr(), null_mut());
            assert_eq!(status, situ_status::Ok);
            let value = (*reply.as_ptr()).sample.head.cast::<u64>().read();
            situ_sample_release(&raw mut (*reply.as_mut_ptr()).sample);
            assert_eq!(situ_client_take(client, reply.as_mut_ptr(), null_mut()), situ_status::Empty);
            value
        }
    };
    for value in 0..200 {
        assert_eq!(call(value), 2 * value);
    }
    let (sum, calls) = counting(|| (0..1000).map(&mut call).sum::<u64>());
    assert_eq!(calls, Calls::NONE);
    assert_eq!(sum, 999_000);
    // SAFETY: the handles are live, and not used after this.
    unsafe {
        situ_client_destroy(client);
        situ_server_destroy(server);
    }
}

/// The report of `guard` about an operation.
fn report(operation: impl FnOnce() -> Result<situ_status, Failure>) -> (situ_status, i32, String) {
    let mut error = situ_error { status: 99, text: [b'x'; TEXT_SIZE] };
    // SAFETY: the error is a live variable.
    let status = unsafe { guard(&mut error, operation) };
    let text = CStr::from_bytes_until_nul(&error.text).map(|text| text.to_str().unwrap().to_owned());
    (status, error.status, text.unwrap_or_default())
}

#[test]
fn a_panic_becomes_an_error() {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let (status, number, text) = report(|| panic!("number {}", 7));
    std::panic::set_hook(hook);
    assert_eq!((status, number), (situ_status::Internal, -11));
    assert_eq!(text, "a defect of libsitu, please report it: number 7");
}

#[test]
fn success_leaves_the_error_as_it_was() {
    assert_eq!(report(|| Ok(situ_status::Empty)), (situ_status::Empty, 99, String::new()));
}

#[test]
fn a_long_text_is_cut_between_characters() {
    let (_, _, text) = report(|| Err(Failure::argument("ü".repeat(600))));
    assert_eq!(text, "ü".repeat(509), "1018 of the 1019 bytes: half a character is left out");
    let (_, _, text) = report(|| Err(Failure::argument("a".repeat(1019))));
    assert_eq!(text.len(), 1019);
}

#[test]
fn invalid_texts_are_named() {
    let bytes = [0xff_u8, 0];
    // SAFETY: both end with a zero, or are null.
    let (broken, missing) =
        unsafe { (text(bytes.as_ptr().cast::<c_char>(), "topic"), text(null(), "topic")) };
    let (_, _, broken) = report(|| broken.map(|_| situ_status::Ok));
    assert_eq!(
        broken,
        "`topic` is not UTF-8 text: invalid utf-8 sequence of 1 bytes from index 0 (\"\\xff\")"
    );
    let (_, _, missing) = report(|| missing.map(|_| situ_status::Ok));
    assert_eq!(missing, "`topic` is NULL");
}

#[test]
fn the_library_lies_there_under_the_name_that_programs_load() {
    let folder = std::path::Path::new(env!("OUT_DIR")).ancestors().nth(3).unwrap();
    let version: Vec<&str> = env!("CARGO_PKG_VERSION").split('.').collect();
    let name = folder.join(format!("libsitu.so.{}.{}", version[0], version[1]));
    assert_eq!(std::fs::read_link(name).unwrap(), std::path::Path::new("libsitu.so"));
}

#[test]
fn events_are_taken_and_waited_for() {
    let bench = Bench::new();
    let (mut matched, mut refused) = (null_mut(), null_mut());
    // SAFETY: the handles are live until they are destroyed, and all other pointers lead to live variables.
    unsafe {
        let status = situ_subscriber_event(bench.subscriber, MATCHED, &mut matched, null_mut());
        assert_eq!(status, situ_status::Ok);
        for kind in [LIVELINESS_LOST, 6] {
            let status = situ_subscriber_event(bench.subscriber, kind, &mut refused, null_mut());
            assert_eq!(status, situ_status::InvalidArgument);
        }
        let mut set = null_mut();
        assert_eq!(situ_wait_set_create(bench.node, &mut set, null_mut()), situ_status::Ok);
        let mut id = u64::MAX;
        assert_eq!(situ_wait_set_attach_event(set, matched, &mut id, null_mut()), situ_status::Ok);
        let mut ready = situ_ready { id: 0, io: 0 };
        let (mut count, second) = (0, 1_000_000_000);
        let wait = |time, ready: &mut situ_ready, count: &mut usize| {
            situ_wait_set_wait(set, time, ready, 1, count, null_mut())
        };
        assert_eq!(wait(20 * second, &mut ready, &mut count), situ_status::Ok);
        assert_eq!((ready.id, count), (id, 1));
        let status = situ_event_take(matched).matched;
        assert_eq!((status.total_count, status.current_count, status.current_count_change), (1, 1, 1));
        assert_eq!(wait(0, &mut ready, &mut count), situ_status::Empty);
        situ_publisher_assert_liveliness(bench.publisher);
        situ_event_destroy(matched);
        situ_wait_set_destroy(set);
        assert_eq!(situ_event_take(null()).matched.total_count, 0);
    }
    let offered = situ_publisher_qos_profile(1);
    assert_eq!((offered.reliability, offered.depth, offered.best_available), (0, 5, 0));
    let requested = situ_subscriber_qos_profile(6);
    assert_eq!((requested.reliability, requested.keep_last, requested.best_available), (1, 10, 1));
    assert_eq!(situ_publisher_qos_profile(99).depth, situ_publisher_qos_default().depth);
}
