//! Sends a message, calls a service and requests a goal of a package whose crate was generated during its
//! build. Then prints what the C++ program prints for the same type.

use std::sync::mpsc;
use std::time::Duration;

use rclrs::{
    BeginAcceptedGoal, Context, CreateBasicExecutor, GoalStatusCode, IntoNodeOptions, IntoPrimitiveOptions,
    Promise, RequestedGoal, SpinOptions, TerminatedGoal,
};
use scan_msgs::action::{Turn, Turn_Feedback, Turn_Goal, Turn_Result};
use scan_msgs::msg::{self, Scan};
use scan_msgs::srv::{Measure, Measure_Request, Measure_Response};
use situ_layout::{Flat, Message};

/// The time limit of every step.
const PATIENCE: Duration = Duration::from_secs(60);

fn scan() -> Scan {
    let mut scan: Scan = Scan::default();
    scan.header.frame_id.try_assign("front").expect("a short name fits");
    scan.pose = msg::Pose { x: -1.5, y: 2.5, ..Default::default() };
    scan.ranges.try_extend_from_slice(&[1.0, 2.0, 4.0]).expect("three ranges fit");
    scan.raw.try_assign(&[7; 100_000]).expect("bulk has no bound");
    scan
}

/// Turns by the goal's angle, first by a half of it.
async fn turn(goal: RequestedGoal<Turn>) -> TerminatedGoal {
    let angle = goal.goal().angle;
    match goal.accept().begin() {
        BeginAcceptedGoal::Execute(goal) => {
            goal.publish_feedback(Turn_Feedback { rest: angle / 2.0, ..Default::default() });
            goal.succeeded_with(Turn_Result { turned: angle, ..Default::default() })
        }
        BeginAcceptedGoal::Cancel(goal) => goal.cancelled_with(Turn_Result::default()),
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut executor = Context::default().create_basic_executor();
    let node = executor.create_node("situ_rosidl_test".start_parameter_services(false))?;

    let (sender, came) = mpsc::channel();
    let publisher = node.create_publisher::<msg::rmw::Scan>("scan".reliable().transient_local())?;
    let _subscription =
        node.create_subscription::<Scan, _>("scan".reliable().transient_local(), move |scan: Scan| {
            let _ = sender.send(scan);
        })?;
    let native: msg::rmw::Scan = situ_layout::convert(&scan())?;
    publisher.publish(&native)?;

    let _service = node.create_service::<Measure, _>("measure", |request: Measure_Request| {
        Measure_Response { scans: vec![scan(); request.count as usize], ..Default::default() }
    })?;
    let client = node.create_client::<Measure>("measure")?;
    let _server = node.create_action_server("turn", turn)?;
    let turner = node.create_action_client::<Turn>("turn")?;

    let done: Promise<Result<(), String>> = executor.commands().run(async move {
        client.notify_on_service_ready().await.map_err(|e| e.to_string())?;
        let answer =
            client.call(Measure_Request { count: 2, ..Default::default() }).map_err(|e| e.to_string())?;
        let answer: Measure_Response = answer.await.map_err(|e| e.to_string())?;
        assert_eq!(answer.scans, vec![scan(); 2]);
        turner.notify_on_server_ready().await.map_err(|e| e.to_string())?;
        let goal = turner.request_goal(Turn_Goal { angle: 90.0, ..Default::default() }).await;
        let (status, result) = goal.ok_or("the goal was refused")?.result.await;
        assert_eq!((status, result.turned), (GoalStatusCode::Succeeded, 90.0));
        Ok(())
    });
    let (ended, end) = mpsc::channel();
    let done = executor.commands().run(async move {
        let _ = ended.send(done.await);
    });
    executor.spin(SpinOptions::new().until_promise_resolved(done).timeout(PATIENCE));
    end.try_recv().map_err(|_| "no answer in time")???;
    let mut received = came.try_recv();
    if received.is_err() {
        executor.spin(SpinOptions::spin_once().timeout(PATIENCE));
        received = came.try_recv();
    }
    assert_eq!(received?, scan());

    println!(
        "{} {:016x} {:016x} {}",
        Scan::<Flat>::NAME,
        Scan::<Flat>::SCHEMA_HASH,
        Scan::<Flat>::LAYOUT_HASH,
        size_of::<Scan<Flat>>()
    );
    Ok(())
}
