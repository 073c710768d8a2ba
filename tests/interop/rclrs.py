#!/usr/bin/env python3
"""Situ's messages in rclrs against rclpy: sends messages of every type to a program in Rust, and compares the
answers.

    rclrs.py PROGRAM      the program of tests/rclrs; scripts/rclrs.sh builds it and runs this

It ends with 75 if a goal or a cancellation was not answered. The action client of rclrs can lose an answer (see
`ANSWER_LOST`), so scripts/rclrs.sh tries again, and fails after the third time.
"""

import os
import subprocess
import sys
import time

import rclpy
import test_msgs.action
import test_msgs.srv
from action_msgs.msg import GoalStatus
from action_msgs.srv import CancelGoal
from rcl_interfaces.msg import ParameterType
from rclpy.action import ActionClient, ActionServer, CancelResponse, GoalResponse
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.parameter_client import AsyncParameterClient
from rclpy.qos import QoSHistoryPolicy, QoSProfile, QoSReliabilityPolicy
from rclpy.task import Future

from model import Values, modes
from ros import HIDDEN, Types

PACKAGES = ("geometry_msgs", "nav_msgs", "sensor_msgs", "std_msgs", "test_msgs")
FORMS = ("idiomatic", "native")
# Messages are lent as well.
SENT_AS = (*FORMS, "lent")
QOS = QoSProfile(history=QoSHistoryPolicy.KEEP_ALL, reliability=QoSReliabilityPolicy.RELIABLE)
# The time limit for a message in seconds, on a busy machine.
PATIENCE = 60
# The action client of rclrs 0.8 sends a goal or a cancellation first and records it afterwards. Another
# thread drops an answer that comes between the two (about once in 17 runs on a machine under load; its
# service clients keep such answers). A relayed goal is then never answered.
ANSWER_LOST = 75


class Peer:
    """One type: a publisher, and the received messages in each form."""

    def __init__(self, node, types, name):
        self.node, self.types, self.name, self.struct = node, types, name, types.struct(name)
        topic = f"situ/{name.replace('::', '/')}"
        cls = types.classes[name]
        self.publisher = node.create_publisher(cls, f"{topic}/question", QOS)
        self.came = {form: [] for form in SENT_AS}
        self.subscriptions = [
            node.create_subscription(cls, f"{topic}/{form}", self.came[form].append, QOS) for form in SENT_AS
        ]  # fmt: skip

    def is_matched(self):
        counts = [self.node.count_publishers(it.topic_name) for it in self.subscriptions]
        return counts == [1] * len(SENT_AS) and self.publisher.get_subscription_count() == len(SENT_AS)

    def messages(self):
        yield self.types.classes[self.name]()
        if HIDDEN not in self.struct.members:
            for mode in modes(3):
                yield self.types.message(Values(mode).make(self.struct), self.name)


def wait(executor, what, is_done, missing=lambda: ""):
    end = time.monotonic() + PATIENCE
    while not is_done():
        if time.monotonic() > end:
            sys.exit(f"rclrs.py: {what} did not happen within {PATIENCE} s {missing()}")
        executor.spin_once(timeout_sec=0.05)


# The answers so far.
answered_before = set()


def answer_to(executor, what, ask, lost=1):
    """The answer to a request. Without one the script ends with the code `lost`. The first request of its kind is
    repeated if the answer takes long: the middleware drops an answer if the server does not know the client's reader
    yet (it waits a tenth of a second for that). Every other request must be answered."""
    attempts = 1 if what in answered_before else 4
    for attempt in range(attempts):
        answered = ask()
        until = time.monotonic() + PATIENCE / attempts
        while not answered.done() and time.monotonic() < until:
            executor.spin_once(timeout_sec=0.05)
        if answered.done():
            answered_before.add(what)
            return answered.result()
        print(f"rclrs.py: {what} was not answered; attempt {attempt + 1} of {attempts}", file=sys.stderr)
    print(f"rclrs.py: {what} was not answered within {PATIENCE} s", file=sys.stderr)
    sys.exit(lost)


def check_messages(executor, node):
    types = Types()
    names = [name for name in types.classes if name.split("::")[0] in PACKAGES and "::msg::" in name]
    peers = [Peer(node, types, name) for name in names]
    missing = lambda: [peer.name for peer in peers if not peer.is_matched()]
    wait(executor, "discovery", lambda: not missing(), missing)
    total = 0
    for peer in peers:
        sent = []
        # One after another: of types with a key, the middleware keeps no order between messages of different
        # keys.
        for message in peer.messages():
            sent.append(message)
            peer.publisher.publish(message)
            came = peer.came.values()
            wait(executor, f"the return of {peer.name}", lambda: all(len(it) == len(sent) for it in came))
        expected = [types.value(message, peer.struct) for message in sent]
        for form, came in peer.came.items():
            values = [types.value(message, peer.struct) for message in came]
            if values != expected:
                sys.exit(f"rclrs.py: {peer.name}, {form}: sent\n{expected}\ngot back\n{values}")
        total += len(sent)
    print(f"rclrs: {total} messages of {len(peers)} types came back unchanged, in each of {len(SENT_AS)} forms")


def check_services(executor, node):
    from test_msgs.srv import BasicTypes

    for form in FORMS:
        client = node.create_client(BasicTypes, f"situ/{form}")
        wait(executor, f"the service {form}", client.service_is_ready)
        for number, text in [(0, ""), (2**62, "grüße 😀"), (-1, "x" * 1000)]:
            request = BasicTypes.Request(int64_value=number, string_value=text)
            answer = answer_to(executor, f"the service {form}", lambda: client.call_async(request))
            if (answer.int64_value, answer.string_value) != (number + 1, text):
                sys.exit(f"rclrs.py: service {form}: {answer}")
    print("rclrs: the service answered in both forms")


def copy_fields(source, target):
    for field in target.get_fields_and_field_types():
        setattr(target, field, getattr(source, field))
    return target


def check_relayed_services(executor, node):
    """Calls services in rclrs. Their clients in rclrs pass the requests on to services in rclpy."""
    types = Types()
    total = 0
    for name in ("BasicTypes", "Arrays", "Empty"):
        cls = getattr(test_msgs.srv, name)
        request, response = (types.struct(f"test_msgs::srv::{name}_{part}") for part in ("Request", "Response"))
        for form in FORMS:
            asked = []

            def answer(message, into):
                asked.append(types.value(message, request))
                return copy_fields(message, into)

            path = f"situ/relay/{name}/{form}"
            server = node.create_service(cls, f"{path}/python", answer)
            client = node.create_client(cls, path)
            wait(executor, f"the service {path}", client.service_is_ready)
            messages = [cls.Request()]
            if HIDDEN not in request.members:
                messages += [types.message(Values(mode).make(request), request.name) for mode in modes(3)]
            for message in messages:
                answered = answer_to(executor, path, lambda: client.call_async(message))
                sent, got = types.value(message, request), types.value(answered, response)
                if (asked[-1], got) != (sent, sent):
                    sys.exit(f"rclrs.py: {path}: sent\n{sent}\nwas asked\n{asked[-1]}\ngot back\n{got}")
            total += len(messages)
            node.destroy_client(client)
            node.destroy_service(server)
    print(f"rclrs: {total} requests went through servers and clients in rclrs to rclpy and back, in both forms")


class Relay:
    """An action in rclpy, reached through one in rclrs; each feedback is waited for, because it may come after the result."""

    def __init__(self, executor, node, cls, path):
        self.executor, self.path, self.cls = executor, path, cls
        self.feedback, self.next = [], None
        # After this many pieces of feedback the goal waits until it is released.
        self.pauses_after = None
        self.may_be_cancelled = True
        self.server = ActionServer(
            node,
            cls,
            f"{path}/python",
            self.execute,
            goal_callback=self.decide,
            cancel_callback=lambda _: CancelResponse.ACCEPT if self.may_be_cancelled else CancelResponse.REJECT,
        )
        self.client = ActionClient(node, cls, path)
        wait(executor, f"the action {path}", self.client.server_is_ready)

    def decide(self, goal):
        return GoalResponse.REJECT if getattr(goal, "order", 0) < 0 else GoalResponse.ACCEPT

    def came(self, message):
        self.feedback.append(message.feedback)
        if len(self.feedback) != self.pauses_after:
            self.next.set_result(True)

    async def give(self, handle, feedback):
        self.next = Future()
        handle.publish_feedback(feedback)
        await self.next

    async def execute(self, handle):
        goal, result = handle.request, self.cls.Result()
        if self.cls is test_msgs.action.NestedMessage:
            await self.give(handle, copy_fields(goal, self.cls.Feedback()))
            handle.succeed()
            return copy_fields(goal, result)
        sequence = [0, 1]
        for _ in range(goal.order):
            sequence.append(sequence[-1] + sequence[-2])
            await self.give(handle, self.cls.Feedback(sequence=sequence))
            if handle.is_cancel_requested:
                result.sequence = sequence
                handle.canceled()
                return result
        result.sequence = sequence
        # One goal is aborted.
        handle.abort() if goal.order == 1 else handle.succeed()
        return result

    def run(self, goal):
        """The status and the result of a goal; `None` if it was refused."""
        handle = self.ask(goal)
        if not handle.accepted:
            return None
        return self.result(handle)

    def ask(self, goal):
        """The answer to a goal."""

        def send():
            self.feedback.clear()
            return self.client.send_goal_async(goal, feedback_callback=self.came)

        return answer_to(self.executor, f"a goal of {self.path}", send, ANSWER_LOST)

    def result(self, handle):
        result = answer_to(self.executor, f"the question for a result of {self.path}", handle.get_result_async)
        return result.status, result.result

    def cancel(self, handle):
        """The answer to cancelling a goal: the code, and the goals that end."""
        answer = answer_to(self.executor, f"the cancelling of {self.path}", handle.cancel_goal_async, ANSWER_LOST)
        return answer.return_code, [bytes(it.goal_id.uuid) for it in answer.goals_canceling]

    def run_and_cancel(self, goal, after):
        """Cancels a goal after `after` pieces of feedback. Returns the answer to that, the status and the result."""
        self.pauses_after = after
        handle = self.ask(goal)
        wait(self.executor, f"feedback of {self.path}", lambda: len(self.feedback) == after)
        code, ended = self.cancel(handle)
        if any(it != bytes(handle.goal_id.uuid) for it in ended):
            sys.exit(f"rclrs.py: {self.path}: other goals than {handle.goal_id} are cancelled: {ended}")
        self.pauses_after = None
        self.next.set_result(True)
        status, result = self.result(handle)
        return (code, len(ended)), status, result, self.cancel(handle)


def check_parameters(executor, node):
    """Reads and sets a parameter of the program: its services have rclrs' own messages, which are Situ's as well."""
    client = AsyncParameterClient(node, "situ_echo")
    wait(executor, "the parameter services", client.services_are_ready)

    def expect(wanted):
        got = answer_to(executor, "the question for parameters", lambda: client.get_parameters(["situ_number", "situ_none"]))
        got = [(it.type, it.integer_value) for it in got.values]
        if got != wanted:
            sys.exit(f"rclrs.py: parameters: expected {wanted}, got {got}")

    expect([(ParameterType.PARAMETER_INTEGER, 42), (ParameterType.PARAMETER_NOT_SET, 0)])
    for value, may_be in [(43, True), ("text", False)]:
        change = [Parameter("situ_number", value=value)]
        answer = answer_to(executor, "the setting of a parameter", lambda: client.set_parameters(change)).results[0]
        if answer.successful != may_be or bool(answer.reason) == may_be:
            sys.exit(f"rclrs.py: setting the parameter to {value!r} was answered with {answer}")
    expect([(ParameterType.PARAMETER_INTEGER, 43), (ParameterType.PARAMETER_NOT_SET, 0)])
    names = answer_to(executor, "the list of parameters", lambda: client.list_parameters(["situ_number"], 0)).result.names
    if "situ_number" not in names:
        sys.exit(f"rclrs.py: the list of parameters is {names}")
    print("rclrs: a parameter of a node in rclrs was read, set and listed from rclpy")


def check_actions(executor, node):
    """Requests goals in rclrs. Its clients request them in rclpy: successful, failing, and refused ones."""
    types = Types()

    def expect(what, got, wanted):
        if got != wanted:
            sys.exit(f"rclrs.py: {what}: expected\n{wanted}\ngot\n{got}")

    fibonacci = Relay(executor, node, test_msgs.action.Fibonacci, "situ/relay/Fibonacci")
    sequence = [0, 1, 1, 2, 3, 5, 8, 13]
    goal = lambda order: test_msgs.action.Fibonacci.Goal(order=order)
    success = GoalStatus.STATUS_SUCCEEDED
    for order, status in [(6, success), (0, success), (1, GoalStatus.STATUS_ABORTED)]:
        got, result = fibonacci.run(goal(order))
        expect(f"Fibonacci {order}, status and result", (got, list(result.sequence)), (status, sequence[: order + 2]))
        feedback = [list(it.sequence) for it in fibonacci.feedback]
        expect(f"Fibonacci {order}, feedback", feedback, [sequence[: at + 3] for at in range(order)])
    expect("Fibonacci, refused", fibonacci.run(goal(-1)), None)

    codes = CancelGoal.Response
    too_late = (codes.ERROR_GOAL_TERMINATED, [])
    for may_be, answer, status, length in [
        (True, (codes.ERROR_NONE, 1), GoalStatus.STATUS_CANCELED, 4),
        (False, (codes.ERROR_REJECTED, 0), success, 8),
        (True, (codes.ERROR_NONE, 1), GoalStatus.STATUS_CANCELED, 4),
    ]:
        fibonacci.may_be_cancelled = may_be
        answered, ended_as, result, again = fibonacci.run_and_cancel(goal(6), 2)
        what = f"Fibonacci, cancelled, which is {'granted' if may_be else 'refused'}"
        expect(f"{what}: answer and status", (answered, ended_as), (answer, status))
        expect(f"{what}: result", list(result.sequence), sequence[:length])
        if not may_be:
            expect(f"{what}, once more at the end", again, too_late)

    nested = Relay(executor, node, test_msgs.action.NestedMessage, "situ/relay/NestedMessage")
    parts = {part: types.struct(f"test_msgs::action::NestedMessage_{part}") for part in ("Goal", "Result", "Feedback")}
    for mode in modes(3):
        message = types.message(Values(mode).make(parts["Goal"]), parts["Goal"].name)
        value = types.value(message, parts["Goal"])
        status, result = nested.run(message)
        expect(f"NestedMessage {mode}, status", status, success)
        expect(f"NestedMessage {mode}, result", types.value(result, parts["Result"]), value)
        expect(f"NestedMessage {mode}, feedback", [types.value(it, parts["Feedback"]) for it in nested.feedback], [value])
    print("rclrs: goals of two actions went through servers and clients in rclrs to rclpy and back, and so did their cancelling")


def main():
    program = subprocess.Popen(sys.argv[1:], stdout=subprocess.PIPE, text=True)
    try:
        ready = program.stdout.readline()
        if not ready.startswith("ready"):
            sys.exit(f"rclrs.py: {sys.argv[1]} is not ready: {ready!r}")
        rclpy.init()
        node = rclpy.create_node("situ_questions")
        executor = SingleThreadedExecutor()
        executor.add_node(node)
        check_services(executor, node)
        check_relayed_services(executor, node)
        check_parameters(executor, node)
        check_actions(executor, node)
        check_messages(executor, node)
        if program.poll() is not None:
            sys.exit(f"rclrs.py: the program ended with {program.returncode}")
    finally:
        program.kill()
        program.wait()
    # The middleware's threads may take long to end, and no work is left.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
