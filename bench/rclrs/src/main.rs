//! Messages of ROS 2 end to end in rclrs: `std_msgs/UInt8MultiArray` of 64 KiB, as many as go.
//!
//! Arguments: `single`, `publish` or `subscribe`; the system; the topic; how many seconds are measured. Who subscribes prints the
//! messages a second that came, and ends.

#[path = "../../conversion/src/generated.rs"]
mod generated;

use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rclrs::{
    Context, CreateBasicExecutor, InitOptions, IntoNodeOptions, IntoPrimitiveOptions, MessageIDL, Node,
    SpinOptions,
};

crate::generated_messages! {
    std_msgs MultiArrayDimension { label: (text), size: (plain u32), stride: (plain u32), }
    std_msgs MultiArrayLayout { dim: (nesteds MultiArrayDimension), data_offset: (plain u32), }
    std_msgs UInt8MultiArray { layout: (nested MultiArrayLayout), data: (list u8), }
}

situ_layout::use_c_allocator!();

type Failure = Box<dyn std::error::Error + Send + Sync>;

const SIZE: usize = 65_536;
const DEPTH: u32 = 1000;
/// How long messages flow before they are counted.
const WARM_UP: Duration = Duration::from_millis(500);

fn payload() -> Vec<u8> {
    (0..SIZE).map(|at| at as u8).collect()
}

/// What the command line says.
struct Task {
    publishes: bool,
    subscribes: bool,
    topic: String,
    time: Duration,
}

/// Publishes the same message again and again.
fn publish<T: MessageIDL>(node: &Node, topic: &str, message: T) -> Result<(), Failure> {
    let publisher = node.create_publisher::<T>(topic.reliable().keep_last(DEPTH))?;
    while publisher.get_subscription_count()? == 0 {
        std::thread::sleep(Duration::from_millis(5));
    }
    std::thread::spawn(move || {
        while publisher.publish(&message).is_ok() {}
        eprintln!("publishing failed");
        std::process::exit(1);
    });
    Ok(())
}

/// Counts what comes, prints how much it was, and ends the program.
fn report(came: &AtomicU64, time: Duration) {
    while came.load(Ordering::Relaxed) == 0 {
        std::thread::sleep(Duration::from_millis(1));
    }
    std::thread::sleep(WARM_UP);
    let (before, begin) = (came.load(Ordering::Relaxed), Instant::now());
    std::thread::sleep(time);
    let count = came.load(Ordering::Relaxed) - before;
    println!("{}", count as f64 / begin.elapsed().as_secs_f64());
    // The middleware's threads may take long to end, and there is nothing left to do.
    std::process::exit(0);
}

fn run<T: MessageIDL>(task: &Task, message: T, data: fn(&T) -> &[u8]) -> Result<(), Failure> {
    let context = Context::new([], InitOptions::new())?;
    let mut executor = context.create_basic_executor();
    let node = executor.create_node("situ_bench".start_parameter_services(false))?;
    let came = Arc::new(AtomicU64::new(0));
    let counted = Arc::clone(&came);
    let subscription = if task.subscribes {
        let subscription = node.create_subscription::<T, _>(
            task.topic.as_str().reliable().keep_last(DEPTH),
            move |message: T| {
                let data = data(&message);
                assert!(data.len() == SIZE && data[0] == 0 && data[SIZE - 1] == 255, "another message came");
                counted.fetch_add(1, Ordering::Relaxed);
            },
        )?;
        let time = task.time;
        std::thread::spawn(move || report(&came, time));
        Some(subscription)
    } else {
        None
    };
    if task.publishes {
        publish(&node, &task.topic, message)?;
    }
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        executor.spin(SpinOptions::new().timeout(Duration::from_millis(200)));
    }
    drop(subscription);
    Ok(())
}

fn main() -> Result<ExitCode, Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, system, topic, seconds] = words.as_slice() else {
        eprintln!("arguments: single|publish|subscribe SYSTEM TOPIC SECONDS");
        return Ok(ExitCode::FAILURE);
    };
    let task = Task {
        publishes: mode != "subscribe",
        subscribes: mode != "publish",
        topic: topic.clone(),
        time: Duration::from_secs_f64(seconds.parse()?),
    };
    match system.as_str() {
        "elementwise" => {
            let message = elementwise::UInt8MultiArray { data: payload(), ..Default::default() };
            run(&task, message, |it| &it.data)
        }
        "rosidl_runtime_rs" => {
            let message = memcpy::UInt8MultiArray { data: payload(), ..Default::default() };
            run(&task, message, |it| &it.data)
        }
        "situ" => {
            let mut message: std_msgs::msg::UInt8MultiArray = Default::default();
            message.data = payload();
            run(&task, message, |it| &it.data)
        }
        "situ-rmw" => {
            let mut message = std_msgs::msg::rmw::UInt8MultiArray::default();
            message.data.try_assign(&payload())?;
            run(&task, message, |it| &it.data)
        }
        other => Err(format!("no such system: {other}").into()),
    }?;
    Ok(ExitCode::SUCCESS)
}
