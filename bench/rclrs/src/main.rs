//! Messages of ROS 2 end to end in rclrs: `std_msgs/UInt8MultiArray` of 64 KiB, in each of the forms that
//! table `conversion-ros` compares.
//!
//! Arguments: `single`, `publish` or `subscribe`; a file; the forms. All forms exist at once, each with a
//! topic, a node and an executor of its own. The publisher prints `ready`. It then answers each line `FORM
//! COUNT` with the nanoseconds from the first publication until the last of the messages was received. The
//! subscriber counts received messages in the file. Both end with their standard input.

#[path = "../../conversion/src/generated.rs"]
mod generated;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::BufRead;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rclrs::{
    Context, CreateBasicExecutor, InitOptions, IntoNodeOptions, IntoPrimitiveOptions, Node, Publisher,
    SpinOptions,
};
use rosidl_runtime_rs::Message;
use situ_layout::ros::lend;

crate::generated_messages! {
    std_msgs MultiArrayDimension { label: (text), size: (plain u32), stride: (plain u32), }
    std_msgs MultiArrayLayout { dim: (nesteds MultiArrayDimension), data_offset: (plain u32), }
    std_msgs UInt8MultiArray { layout: (nested MultiArrayLayout), data: (list u8), }
}

situ_layout::use_c_allocator!();

type Failure = Box<dyn std::error::Error + Send + Sync>;

const SIZE: usize = 65_536;
const DEPTH: u32 = 1000;
/// The maximum of messages under way: fewer than the middleware keeps, so that none is lost.
const WINDOW: u64 = 128;
/// The subscriber writes the file after this many messages.
const STEP: u64 = 16;
/// The publisher sleeps this long while too many messages are under way.
const NAP: Duration = Duration::from_micros(50);
/// The time limit for a partner or a message.
const TIMEOUT: Duration = Duration::from_secs(20);

fn payload() -> Vec<u8> {
    (0..SIZE).map(|at| at as u8).collect()
}

/// The number of received messages over all forms, in a file that the publisher reads.
struct Arrivals {
    file: File,
    count: AtomicU64,
}

impl Arrivals {
    fn open(path: &str) -> Result<Self, Failure> {
        Ok(Self { file: File::options().read(true).write(true).open(path)?, count: AtomicU64::new(0) })
    }

    fn add(&self) {
        let count = self.count.fetch_add(1, Ordering::Relaxed) + 1;
        if count.is_multiple_of(STEP) {
            self.file.write_at(&count.to_ne_bytes(), 0).expect("the file of arrivals can be written");
        }
    }

    fn read(&self) -> Result<u64, Failure> {
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, 0)?;
        Ok(u64::from_ne_bytes(bytes))
    }

    /// Waits until at least `count` messages were received.
    fn wait(&self, count: u64) -> Result<u64, Failure> {
        let begin = Instant::now();
        loop {
            let came = self.read()?;
            if came >= count {
                return Ok(came);
            }
            if begin.elapsed() > TIMEOUT {
                return Err(format!("{came} messages came, not {count}").into());
            }
            std::thread::sleep(NAP);
        }
    }
}

/// The command line.
struct Task {
    publishes: bool,
    subscribes: bool,
    arrivals: Arc<Arrivals>,
}

/// Publishes one message.
type Publish = Box<dyn FnMut() -> Result<(), Failure>>;

fn options(topic: &str) -> rclrs::PrimitiveOptions<'_> {
    topic.reliable().keep_last(DEPTH)
}

/// A publisher with its subscriber.
fn publisher<T: Message>(node: &Node, topic: &str) -> Result<Publisher<T>, Failure> {
    let publisher = node.create_publisher::<T>(options(topic))?;
    let begin = Instant::now();
    while publisher.get_subscription_count()? == 0 {
        if begin.elapsed() > TIMEOUT {
            return Err(format!("no subscriber of {topic} came").into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Ok(publisher)
}

impl Task {
    /// One form: subscribes as `T`, through a worker if asked for, and returns a publisher of `P`.
    fn form<T: Message, P: Message>(
        &self,
        context: &Context,
        name: &str,
        data: fn(&T) -> &[u8],
        publish: impl FnOnce(Publisher<P>) -> Result<Publish, Failure>,
    ) -> Result<Option<Publish>, Failure> {
        let mut executor = context.create_basic_executor();
        let topic = name.replace('-', "_");
        let node = executor.create_node(topic.as_str().start_parameter_services(false))?;
        if self.subscribes {
            let arrivals = Arc::clone(&self.arrivals);
            let came = move |message: T| {
                let data = data(&message);
                assert!(data.len() == SIZE && data[0] == 0 && data[SIZE - 1] == 255, "another message came");
                arrivals.add();
            };
            let subscription: Box<dyn std::any::Any + Send> = if name.ends_with("-worker") {
                let worker = node.create_worker(0_u64);
                let mine = worker.create_subscription::<T, _>(
                    options(&topic),
                    move |count: &mut u64, message: T| {
                        *count += 1;
                        came(message);
                    },
                )?;
                Box::new((worker, mine))
            } else {
                Box::new(node.create_subscription::<T, _>(options(&topic), came)?)
            };
            std::thread::spawn(move || {
                executor.spin(SpinOptions::new());
                drop(subscription);
            });
        }
        self.publishes.then(|| publish(publisher(&node, &topic)?)).transpose()
    }

    /// The form with this name.
    fn named(&self, context: &Context, name: &str) -> Result<Option<Publish>, Failure> {
        use std_msgs::msg::{UInt8MultiArray, rmw};

        /// Publishes the same message again and again.
        fn same<T: Message>(message: T) -> impl FnOnce(Publisher<T>) -> Result<Publish, Failure> {
            move |publisher| Ok(Box::new(move || Ok(publisher.publish(&message)?)))
        }
        let mut own: UInt8MultiArray = Default::default();
        own.data = payload();
        match name {
            "elementwise" => {
                let message = elementwise::UInt8MultiArray { data: payload(), ..Default::default() };
                self.form(context, name, |it: &elementwise::UInt8MultiArray| &it.data, same(message))
            }
            "rosidl_runtime_rs" | "rosidl_runtime_rs-worker" => {
                let message = memcpy::UInt8MultiArray { data: payload(), ..Default::default() };
                self.form(context, name, |it: &memcpy::UInt8MultiArray| &it.data, same(message))
            }
            "rosidl_runtime_rs-rmw" => {
                let message =
                    self::rmw::UInt8MultiArray { data: payload().as_slice().into(), ..Default::default() };
                self.form(context, name, |it: &self::rmw::UInt8MultiArray| &it.data, same(message))
            }
            "situ" | "situ-worker" => self.form(context, name, |it: &UInt8MultiArray| &it.data, same(own)),
            "situ-lend" => self.form(
                context,
                name,
                |it: &UInt8MultiArray| &it.data,
                |publisher: Publisher<rmw::UInt8MultiArray>| {
                    Ok(Box::new(move || Ok(publisher.publish(&*lend(&own)?)?)))
                },
            ),
            "situ-rmw" => {
                let mut message = rmw::UInt8MultiArray::default();
                message.data.try_assign(&payload())?;
                self.form(context, name, |it: &rmw::UInt8MultiArray| &it.data, same(message))
            }
            other => Err(format!("no such form: {other}").into()),
        }
    }
}

/// Publishes `count` messages. Returns the time until the last of them was received.
fn measure(publish: &mut Publish, count: u64, arrivals: &Arrivals) -> Result<Duration, Failure> {
    let before = arrivals.read()?;
    let mut came = before;
    let begin = Instant::now();
    for sent in 0..count {
        let needed = before + (sent + 1).saturating_sub(WINDOW);
        if came < needed {
            came = arrivals.wait(needed)?;
        }
        publish()?;
    }
    arrivals.wait(before + count)?;
    Ok(begin.elapsed())
}

fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [mode, file, names @ ..] = words.as_slice() else {
        return Err("arguments: single|publish|subscribe FILE FORM...".into());
    };
    let task = Task {
        publishes: mode != "subscribe",
        subscribes: mode != "publish",
        arrivals: Arc::new(Arrivals::open(file)?),
    };
    let context = Context::new([], InitOptions::new())?;
    let mut forms = BTreeMap::new();
    for name in names {
        if let Some(publish) = task.named(&context, name)? {
            forms.insert(name.as_str(), publish);
        }
    }
    println!("ready");
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let (name, count) = line.split_once(' ').ok_or("a line is FORM COUNT")?;
        let publish = forms.get_mut(name).ok_or_else(|| format!("{name} is not published here"))?;
        println!("{}", measure(publish, count.parse()?, &task.arrivals)?.as_nanos());
    }
    // The middleware's threads may take long to end, and no work is left.
    std::process::exit(0);
}
