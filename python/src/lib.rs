//! The native half of the Python package `situ`.
//!
//! ```text
//!   lib            the module
//!   node           nodes, and what they find in their root
//!   publisher      publishers; port is what a publisher shares with its loans
//!   subscriber     subscribers
//!   service        clients and servers; endpoint is what subscribers, clients and servers share
//!   service_loan   requests and replies that are written in place; template new flat messages in lent memory
//!   blackboard     blackboards
//!   message        messages: the base of the classes of all types; info what the bus tells of them
//!     encode         the bytes of messages that are sent
//!     view           flat messages, read and written in place; list_view their sequences
//!     region         regions, read in place
//!     edit           regions, written in place; edit_list and edit_map their containers
//!     region_loan    a region that is lent: where its parts are, and what views of them are stale
//!     convert        values from objects of Python; objects the other way; union the values of unions
//!     content        where the content of a message is
//!     array          numbers in a message's memory, for numpy and DLPack
//!     device_array   numbers on a device; device bodies there, and the streams that use them
//!     hold           the memory of messages, and what keeps it
//!   schema         schemas and types
//!     types          what the package knows of a type
//!   record         recordings that are read and written; record_bus records and plays
//!   wait_set events trace qos errors process sync
//! ```
//!
//! The other half, `situ/*.py`, has the classes that users see. What runs for each message is here.

use pyo3::prelude::*;

mod array;
mod blackboard;
mod content;
mod convert;
mod device;
mod device_array;
mod edit;
mod edit_list;
mod edit_map;
mod encode;
mod endpoint;
mod errors;
mod events;
mod hold;
mod info;
mod list_view;
mod message;
mod node;
mod objects;
mod port;
mod process;
mod publisher;
mod qos;
mod record;
mod record_bus;
mod region;
mod region_loan;
mod schema;
mod service;
mod service_loan;
mod subscriber;
mod sync;
mod template;
mod trace;
mod types;
mod union;
mod view;
mod wait_set;

/// The time on the clock of messages, in nanoseconds.
#[pyfunction]
fn now_ns() -> u64 {
    situ_bus::now_ns()
}

/// How many copies Situ has made of messages in this process, and how many bytes.
#[pyfunction]
fn copies() -> (u64, u64) {
    situ_bus::CopyCounter::of_process().get()
}

#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    // Nodes of this process take part in traces, as those of other languages do.
    situ_trace::install();
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<array::Array>()?;
    module.add_class::<device_array::DeviceArray>()?;
    module.add_class::<blackboard::BlackboardReaderHandle>()?;
    module.add_class::<blackboard::BlackboardWriterHandle>()?;
    module.add_class::<events::EventHandle>()?;
    module.add_class::<view::ListView>()?;
    module.add_class::<info::Info>()?;
    module.add_class::<message::Member>()?;
    module.add_class::<content::Struct>()?;
    module.add_class::<node::NodeHandle>()?;
    module.add_class::<publisher::PublisherHandle>()?;
    module.add_class::<schema::SchemaHandle>()?;
    module.add_class::<types::TypeHandle>()?;
    module.add_class::<subscriber::SubscriberHandle>()?;
    module.add_class::<service::ClientHandle>()?;
    module.add_class::<service::RequestObject>()?;
    module.add_class::<service::ServerHandle>()?;
    module.add_class::<union::Union>()?;
    module.add_class::<record::RecordMessages>()?;
    module.add_class::<record::RecordReader>()?;
    module.add_class::<record::RecordWriter>()?;
    module.add_class::<record_bus::RecorderHandle>()?;
    module.add_class::<region::RegionList>()?;
    module.add_class::<region::RegionMap>()?;
    region::register(module.py())?;
    module.add_class::<edit::EditList>()?;
    module.add_class::<edit::EditMap>()?;
    module.add_class::<edit::EditSet>()?;
    edit::register(module.py())?;
    module.add_class::<wait_set::GuardHandle>()?;
    module.add_class::<wait_set::TimerHandle>()?;
    module.add_class::<wait_set::WaitSetHandle>()?;
    module.add_function(wrap_pyfunction!(copies, module)?)?;
    module.add_function(wrap_pyfunction!(now_ns, module)?)?;
    module.add_function(wrap_pyfunction!(node::read_graph, module)?)?;
    module.add_function(wrap_pyfunction!(node::read_topics, module)?)?;
    module.add_function(wrap_pyfunction!(process::after_fork_in_child, module)?)?;
    module.add_function(wrap_pyfunction!(process::at_exit, module)?)?;
    module.add_function(wrap_pyfunction!(record_bus::play_files, module)?)?;
    module.add_function(wrap_pyfunction!(schema::type_of, module)?)?;
    module.add_function(wrap_pyfunction!(subscriber::note_places, module)?)?;
    module.add_function(wrap_pyfunction!(subscriber::notes_places, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_enabled, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_end, module)?)?;
    module.add_function(wrap_pyfunction!(trace::trace_event, module)?)?;
    Ok(())
}
