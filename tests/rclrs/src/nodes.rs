//! Nodes in rclrs that talk with nodes in other languages: the roles of
//! `ros/rmw_situ/test/python/test_languages.py`, which starts this program.
//!
//! `nodes --roles` prints the roles, `nodes ROLE NAMESPACE NAME` plays one. It tells its parent by lines of
//! JSON that it is ready, and that all exchanges are done. Ends when its standard input does, or says `end`.

use std::any::Any;
use std::fmt::Display;
use std::io::BufRead;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use futures::channel::oneshot;
use futures::future::{Either, select};
use rclrs::{
    BeginAcceptedGoal, Context, CreateBasicExecutor, GoalClient, GoalStatusCode, InitOptions,
    IntoNodeOptions, IntoPrimitiveOptions, Node, RclrsError, RequestedGoal, SpinOptions, TerminatedGoal,
};
use sensor_msgs::msg::Image;
use test_msgs::action::{Fibonacci, Fibonacci_Feedback, Fibonacci_Goal, Fibonacci_Result};
use test_msgs::srv::{BasicTypes, BasicTypes_Request, BasicTypes_Response};

situ_layout::use_c_allocator!();

/// How many exchanges each pair makes, in all languages.
const COUNT: usize = 20;
const WIDTH: usize = 4096;
/// The order of the goal that is cancelled.
const ENDLESS: i32 = 100_000;
/// How long an answer may take that rclrs cannot lose.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long an answer may take that it can lose (see `lost`).
const ANSWER_LIMIT: Duration = Duration::from_secs(15);
const ROLES: [&str; 6] = ["talker", "listener", "server", "client", "action_server", "action_client"];

fn fail(what: impl Display) -> ! {
    eprintln!("{what}");
    std::process::exit(1)
}

fn expect(condition: bool, what: &str) {
    if !condition {
        fail(what);
    }
}

fn tell(word: &str) {
    println!("[\"{word}\", null]");
}

/// Completes after a time.
async fn sleep(time: Duration) {
    let (sender, receiver) = oneshot::channel::<()>();
    std::thread::spawn(move || {
        std::thread::sleep(time);
        let _ = sender.send(());
    });
    let _ = receiver.await;
}

/// What the future gives, if it does so in time.
async fn within<F: Future>(limit: Duration, future: F) -> Option<F::Output> {
    match select(std::pin::pin!(future), std::pin::pin!(sleep(limit))).await {
        Either::Left((output, _)) => Some(output),
        Either::Right(_) => None,
    }
}

async fn require<F: Future>(future: F, what: &str) -> F::Output {
    match within(PATIENCE, future).await {
        Some(output) => output,
        None => fail(format_args!("{what} did not come")),
    }
}

async fn talk(node: Node) -> Result<(), RclrsError> {
    let text = node.create_publisher::<std_msgs::msg::String>("chatter".reliable().keep_all())?;
    let images = node.create_publisher::<Image>("image".reliable().keep_all())?;
    let ready =
        async { (text.notify_on_subscriber_ready().await, images.notify_on_subscriber_ready().await) };
    let _ = require(ready, "a listener").await;
    for number in 0..COUNT {
        let mut message = std_msgs::msg::String::new();
        message.data = format!("number {number}").as_str().into();
        text.publish(message)?;
        // A listener sees a torn message.
        let rows = number % 7 + 1;
        let mut image = Image::new();
        image.height = rows as u32;
        image.width = WIDTH as u32;
        image.data = vec![number as u8; rows * WIDTH].into();
        images.publish(image)?;
    }
    tell("done");
    std::future::pending().await
}

/// Counts what came; tells when both counts are complete.
#[derive(Default)]
struct Heard {
    texts: AtomicUsize,
    images: AtomicUsize,
}

impl Heard {
    fn add(&self, to: &AtomicUsize) {
        to.fetch_add(1, Ordering::Relaxed);
        if self.texts.load(Ordering::Relaxed) == COUNT && self.images.load(Ordering::Relaxed) == COUNT {
            tell("done");
        }
    }
}

fn listen(node: &Node) -> Result<Vec<Box<dyn Any>>, RclrsError> {
    let heard = Arc::new(Heard::default());
    let (texts, images) = (Arc::clone(&heard), heard);
    let text =
        node.create_subscription("chatter".reliable().keep_all(), move |message: std_msgs::msg::String| {
            let number = texts.texts.load(Ordering::Relaxed);
            expect(message.data == format!("number {number}"), "a text is wrong, or not the next one");
            texts.add(&texts.texts);
        })?;
    let image = node.create_subscription("image".reliable().keep_all(), move |image: Image| {
        let number = images.images.load(Ordering::Relaxed);
        let rows = number % 7 + 1;
        let is_right = (image.height as usize, image.width as usize, image.data.len())
            == (rows, WIDTH, rows * WIDTH)
            && image.data.iter().all(|&byte| byte == number as u8);
        expect(is_right, "an image is wrong, or not the next one");
        images.add(&images.images);
    })?;
    Ok(vec![Box::new(text), Box::new(image)])
}

fn serve(node: &Node) -> Result<Vec<Box<dyn Any>>, RclrsError> {
    let service = node.create_service::<BasicTypes, _>("double", |request: BasicTypes_Request| {
        let mut response = BasicTypes_Response::new();
        response.int64_value = 2 * request.int64_value;
        response.string_value = request.string_value;
        response
    })?;
    Ok(vec![Box::new(service)])
}

async fn call(node: Node) -> Result<(), RclrsError> {
    let client = node.create_client::<BasicTypes>("double")?;
    let _ = require(client.notify_on_service_ready(), "the server").await;
    for number in 0..COUNT as i64 {
        let text = format!("grüße {number}, a text that is not short");
        let mut request = BasicTypes_Request::new();
        request.int64_value = number;
        request.string_value = text.as_str().into();
        let answer = client.call::<_, BasicTypes_Response>(request)?;
        let Ok(response) = require(answer, "an answer").await else { fail("no answer will come") };
        expect(response.int64_value == 2 * number && response.string_value == text, "wrong answer");
    }
    tell("done");
    std::future::pending().await
}

/// Counts to the order of a goal, a number every 5 ms. Refuses negative orders.
async fn count(goal: RequestedGoal<Fibonacci>) -> TerminatedGoal {
    let order = goal.goal().order;
    if order < 0 {
        return goal.reject();
    }
    let mut sequence = Vec::new();
    let result = |sequence: Vec<i32>| {
        let mut result = Fibonacci_Result::default();
        result.sequence = sequence.into();
        result
    };
    let executing = match goal.accept().begin() {
        BeginAcceptedGoal::Execute(executing) => executing,
        BeginAcceptedGoal::Cancel(cancelling) => return cancelling.cancelled_with(result(sequence)),
    };
    while sequence.len() < order as usize {
        sequence.push(sequence.len() as i32);
        let mut feedback = Fibonacci_Feedback::default();
        feedback.sequence = sequence.clone().into();
        executing.publish_feedback(feedback);
        if executing.unless_cancel_requested(sleep(Duration::from_millis(5))).await.is_err() {
            return executing.begin_cancelling().cancelled_with(result(sequence));
        }
    }
    executing.succeeded_with(result(sequence))
}

/// The action client of rclrs 0.8 sends a goal or a cancellation first and records it afterwards. An answer
/// that comes in between is dropped by another thread. The test tries again then.
async fn lost() -> ! {
    tell("lost");
    std::future::pending().await
}

async fn answer<F: Future>(future: F) -> F::Output {
    match within(ANSWER_LIMIT, future).await {
        Some(output) => output,
        None => lost().await,
    }
}

fn is_counting(sequence: &[i32]) -> bool {
    sequence.iter().enumerate().all(|(at, &number)| number == at as i32)
}

async fn ask(node: Node) -> Result<(), RclrsError> {
    let client = node.create_action_client::<Fibonacci>("count")?;
    let _ = require(client.notify_on_server_ready(), "the action server").await;
    let goal = |order| {
        let mut goal = Fibonacci_Goal::default();
        goal.order = order;
        goal
    };
    for _ in 0..COUNT {
        let Some(accepted) = answer(client.request_goal(goal(3))).await else { fail("a goal was refused") };
        let (status, result) = require(accepted.result, "a result").await;
        expect(status == GoalStatusCode::Succeeded && result.sequence[..] == [0, 1, 2], "wrong result");

        expect(answer(client.request_goal(goal(-1))).await.is_none(), "a goal was not refused");

        let Some(accepted) = answer(client.request_goal(goal(ENDLESS))).await else {
            fail("a goal was refused")
        };
        let GoalClient { mut feedback, result, cancellation, .. } = accepted;
        for _ in 0..2 {
            match require(feedback.recv(), "feedback").await {
                Some(message) => expect(is_counting(&message.sequence), "wrong feedback"),
                None => fail("feedback has ended"),
            }
        }
        expect(answer(cancellation.cancel()).await.is_accepted(), "a goal cannot be cancelled");
        let (status, result) = require(result, "a result").await;
        expect(
            status == GoalStatusCode::Cancelled && is_counting(&result.sequence),
            "a goal was not cancelled",
        );
    }
    tell("done");
    std::future::pending().await
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (role, namespace, name) = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["--roles"] => {
            println!("{}", ROLES.join("\n"));
            return Ok(());
        }
        [role, namespace, name] if ROLES.contains(&role) => (role, namespace, name),
        _ => fail("usage: nodes ROLE NAMESPACE NAME"),
    };
    let context = Context::new([], InitOptions::new())?;
    let mut executor = context.create_basic_executor();
    let node = executor.create_node(name.namespace(namespace))?;
    let commands = Arc::clone(executor.commands());
    let kept: Box<dyn Any> = match role {
        "listener" => Box::new(listen(&node)?),
        "server" => Box::new(serve(&node)?),
        "action_server" => Box::new(node.create_action_server("count", count)?),
        _ => {
            let acting = node.clone();
            let role = role.to_owned();
            Box::new(commands.run(async move {
                let ended = match role.as_str() {
                    "talker" => talk(acting).await,
                    "client" => call(acting).await,
                    _ => ask(acting).await,
                };
                if let Err(error) = ended {
                    fail(error);
                }
            }))
        }
    };
    let has_ended = Arc::new(AtomicBool::new(false));
    let ended = Arc::clone(&has_ended);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            if !matches!(line.as_deref(), Ok(line) if line != "end") {
                break;
            }
        }
        ended.store(true, Ordering::Release);
    });
    tell("ready");
    while !has_ended.load(Ordering::Acquire) {
        for error in executor.spin(SpinOptions::new().timeout(Duration::from_millis(100))) {
            if !error.is_timeout() {
                return Err(error.into());
            }
        }
    }
    drop(kept);
    // Threads of rclrs and of `sleep` may go on for a while.
    std::process::exit(0)
}
