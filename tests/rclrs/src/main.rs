//! Sends every received message back: as the C struct that it is, as the idiomatic type, by the conversions,
//! and lent as a C struct. Answers a service in both forms, and relays services and actions.
//! `tests/interop/rclrs.py` is its client. Ends when it is killed or orphaned.

mod relay;

use std::any::Any;
use std::time::Duration;

use rclrs::{
    Context, CreateBasicExecutor, InitOptions, IntoPrimitiveOptions, MessageIDL, Node, Publisher, RclrsError,
    RmwMessageIDL, ServiceIDL, SpinOptions,
};
use situ_layout::ros::{Lend, lend};
use test_msgs::action::Fibonacci;
use test_msgs::srv::{BasicTypes, BasicTypes_Request, BasicTypes_Response};

situ_layout::use_c_allocator!();

include!(concat!(env!("OUT_DIR"), "/messages.rs"));

/// The publishers, subscriptions and services of the program.
struct Echo {
    node: Node,
    kept: Vec<Box<dyn Any>>,
}

impl Echo {
    /// All forms of a message.
    fn message<T, R>(&mut self) -> Result<(), RclrsError>
    where
        T: MessageIDL<RmwMsg = R> + Lend<C = R>,
        R: RmwMessageIDL + MessageIDL<RmwMsg = R>,
    {
        // One is given away with its memory, another is published in place.
        self.one::<T, T>(R::TYPE_NAME, "idiomatic", |to, message| to.publish(message))?;
        self.one::<R, R>(R::TYPE_NAME, "native", |to, message| to.publish(&message))?;
        self.one::<T, R>(R::TYPE_NAME, "lent", |to, message| {
            to.publish(&*lend(&message).expect("there are no buffers"))
        })
    }

    /// Receives one form and sends another back.
    fn one<T: MessageIDL, P: MessageIDL>(
        &mut self,
        name: &str,
        form: &str,
        send: fn(&Publisher<P>, T) -> Result<(), RclrsError>,
    ) -> Result<(), RclrsError> {
        let answer = format!("situ/{name}/{form}");
        let publisher = self.node.create_publisher::<P>(answer.as_str().reliable().keep_all())?;
        let question = format!("situ/{name}/question");
        let subscription = self.node.create_subscription::<T, _>(
            question.as_str().reliable().keep_all(),
            move |message: T| {
                if let Err(error) = send(&publisher, message) {
                    eprintln!("{answer}: {error}");
                }
            },
        )?;
        self.kept.push(Box::new(subscription));
        Ok(())
    }
}

/// The answer repeats the request.
fn answer(request: BasicTypes_Request) -> BasicTypes_Response {
    let mut response = BasicTypes_Response::new();
    response.int64_value = request.int64_value.wrapping_add(1);
    response.string_value = request.string_value;
    response
}

/// The goals of the action become requests, and these goals again.
fn check_action<A>(goal: rclrs::rosidl_runtime_rs::RmwGoalData<A>)
where
    A: rclrs::ActionIDL,
    rclrs::rosidl_runtime_rs::RmwGoalData<A>: PartialEq,
{
    assert!(!A::get_type_support().is_null());
    assert!(!A::SendGoalService::get_type_support().is_null());
    assert!(!A::GetResultService::get_type_support().is_null());
    assert!(!A::CancelGoalService::get_type_support().is_null());
    let id = std::array::from_fn(|at| at as u8);
    let request = A::create_goal_request(&id, goal.clone());
    assert!(A::split_goal_request(request) == (id, goal));
    let response = A::create_goal_response(true, (-3, 7));
    assert!(A::get_goal_response_accepted(&response));
    assert_eq!(A::get_goal_response_stamp(&response), (-3, 7));
    assert_eq!(*A::get_result_request_uuid(&A::create_result_request(&id)), id);
    let result = A::create_result_response(4, Default::default());
    assert_eq!(A::split_result_response(result).0, 4);
    let feedback = A::create_feedback_message(&id, Default::default());
    assert_eq!(A::split_feedback_message(feedback).0, id);
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    check_action::<Fibonacci>(test_msgs::action::rmw::Fibonacci_Goal { order: 5 });
    let context = Context::new([], InitOptions::new())?;
    let mut executor = context.create_basic_executor();
    let node = executor.create_node("situ_echo")?;
    let mut echo = Echo { node: node.clone(), kept: Vec::new() };
    messages(&mut echo)?;
    let parameter = node.declare_parameter("situ_number").default(42_i64).mandatory()?;
    echo.kept.push(Box::new(parameter));
    let idiomatic = node
        .create_service::<BasicTypes, _>("situ/idiomatic", |request: BasicTypes_Request| answer(request))?;
    let native = node.create_service::<test_msgs::srv::rmw::BasicTypes, _>(
        "situ/native",
        |request: test_msgs::srv::rmw::BasicTypes_Request| {
            let mut response = test_msgs::srv::rmw::BasicTypes_Response::default();
            response.int64_value = request.int64_value.wrapping_add(1);
            response.string_value = request.string_value;
            response
        },
    )?;
    let relays = relay::all(&node)?;
    println!("ready, {} subscriptions", echo.kept.len());
    let parent = std::os::unix::process::parent_id();
    while std::os::unix::process::parent_id() == parent {
        for error in executor.spin(SpinOptions::new().timeout(Duration::from_millis(500))) {
            if !matches!(&error, RclrsError::RclError { code: rclrs::RclReturnCode::Timeout, .. }) {
                return Err(error.into());
            }
        }
    }
    drop((echo, idiomatic, native, relays));
    Ok(())
}
