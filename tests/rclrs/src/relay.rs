//! Relays services and actions: it asks rclpy what rclpy asks of it, so that clients and servers of both
//! sides meet. A request to `NAME` becomes a request to `NAME/python`.

use std::any::Any;
use std::sync::Arc;

use futures::StreamExt;
use rclrs::{
    ActionClient, ActionIDL, BeginAcceptedGoal, GoalEvent, GoalStatusCode, Node, RclrsError, RequestedGoal,
    ServiceIDL, TerminatedGoal,
};
use test_msgs::{action, srv};

/// All of them. They work while the returned value is kept.
pub fn all(node: &Node) -> Result<Vec<Box<dyn Any>>, RclrsError> {
    Ok(vec![
        service::<srv::BasicTypes>(node, "situ/relay/BasicTypes/idiomatic")?,
        service::<srv::rmw::BasicTypes>(node, "situ/relay/BasicTypes/native")?,
        service::<srv::Arrays>(node, "situ/relay/Arrays/idiomatic")?,
        service::<srv::rmw::Arrays>(node, "situ/relay/Arrays/native")?,
        service::<srv::Empty>(node, "situ/relay/Empty/idiomatic")?,
        service::<srv::rmw::Empty>(node, "situ/relay/Empty/native")?,
        action::<action::Fibonacci>(node, "situ/relay/Fibonacci")?,
        action::<action::NestedMessage>(node, "situ/relay/NestedMessage")?,
    ])
}

fn service<T: ServiceIDL>(node: &Node, name: &str) -> Result<Box<dyn Any>, RclrsError> {
    let client = node.create_client::<T>(format!("{name}/python").as_str())?;
    let service = node.create_async_service::<T, _>(name, move |request: T::Request| {
        let client = Arc::clone(&client);
        async move {
            client.notify_on_service_ready().await.expect("the node lives as long as its services");
            let answer = client.call::<_, T::Response>(request).expect("the request can be sent");
            answer.await.expect("the client lives as long as its question")
        }
    })?;
    Ok(Box::new(service))
}

fn action<A: ActionIDL>(node: &Node, name: &str) -> Result<Box<dyn Any>, RclrsError> {
    let client = node.create_action_client::<A>(format!("{name}/python").as_str())?;
    let server = node.create_action_server(name, move |goal| relay(goal, Arc::clone(&client)))?;
    Ok(Box::new(server))
}

/// Requests the same goal, passes its feedback and its cancellation on, and ends as it does.
async fn relay<A: ActionIDL>(goal: RequestedGoal<A>, client: ActionClient<A>) -> TerminatedGoal {
    client.notify_on_server_ready().await.expect("the node lives as long as its actions");
    let Some(asked) = client.request_goal(A::Goal::clone(goal.goal())).await else { return goal.reject() };
    let executing = match goal.accept().begin() {
        BeginAcceptedGoal::Execute(executing) => executing,
        BeginAcceptedGoal::Cancel(cancelling) => return cancelling.cancelled_with(A::Result::default()),
    };
    let cancellation = asked.cancellation.clone();
    let mut events = asked.stream();
    loop {
        let Ok(event) = executing.unless_cancel_requested(events.next()).await else {
            let answer = cancellation.cancel().await;
            // rclpy refuses with an answer that is no error and names no goal.
            if answer.is_accepted() && answer.stamp.is_some() {
                break;
            }
            executing.reject_cancellation();
            continue;
        };
        match event {
            Some(GoalEvent::Feedback(feedback)) => executing.publish_feedback(feedback),
            Some(GoalEvent::Status(_)) => {}
            Some(GoalEvent::Result((GoalStatusCode::Succeeded, result))) => {
                return executing.succeeded_with(result);
            }
            Some(GoalEvent::Result((_, result))) => return executing.aborted_with(result),
            None => return executing.aborted_with(A::Result::default()),
        }
    }
    let cancelling = executing.begin_cancelling();
    while let Some(event) = events.next().await {
        match event {
            GoalEvent::Feedback(feedback) => cancelling.publish_feedback(feedback),
            GoalEvent::Status(_) => {}
            GoalEvent::Result((GoalStatusCode::Cancelled, result)) => {
                return cancelling.cancelled_with(result);
            }
            GoalEvent::Result((GoalStatusCode::Succeeded, result)) => {
                return cancelling.succeeded_with(result);
            }
            GoalEvent::Result((_, result)) => return cancelling.aborted_with(result),
        }
    }
    cancelling.aborted_with(A::Result::default())
}
