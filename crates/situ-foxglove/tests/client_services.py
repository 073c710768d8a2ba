"""Calls a service, and reads and sets a parameter, as client.py does: written from the protocol's page.

client_services.py PORT   prints what it got as JSON; replies are decoded by mcap-ros2 from the server's definitions
"""
import json
import struct
import sys

from mcap_ros2._dynamic import generate_dynamic

from client import WebSocket, plain


def main():
    connection = WebSocket(int(sys.argv[1]), "foxglove.websocket.v1")
    info = connection.receive()
    assert {"services", "parameters", "parametersSubscribe"} <= set(info["capabilities"]), info
    services = {}

    def receive(kind):
        """The next message with the content of a reply (bytes), or of a kind."""
        while True:
            message = connection.receive()
            if isinstance(message, bytes):
                assert kind is bytes, message
                return message
            if message["op"] == "advertiseServices":
                services.update({service["name"]: service for service in message["services"]})
            if message["op"] == kind:
                return message
            assert message["op"] in ("advertise", "advertiseServices"), message

    while "/switch" not in services:
        receive("advertiseServices")
    switch = services["/switch"]
    assert switch["type"] == "std_srvs/srv/SetBool" and switch["request"]["schemaEncoding"] == "ros2msg", switch

    def call(number, flag):
        encoding = b"cdr"
        connection.send(2, b"\x02" + struct.pack("<III", switch["id"], number, len(encoding)) + encoding
                        + b"\0\1\0\0" + struct.pack("<?", flag))

    call(7, True)
    message = receive(bytes)
    opcode, service, number, length = struct.unpack("<BIII", message[:13])
    assert (opcode, service, number, message[13:13 + length]) == (3, switch["id"], 7, b"cdr"), message
    response = switch["response"]
    decoders = generate_dynamic(response["schemaName"], response["schema"])
    reply = plain(decoders[response["schemaName"]](message[13 + length:]))
    call(8, False)
    failure = receive("serviceCallFailure")
    assert (failure["serviceId"], failure["callId"]) == (switch["id"], 8), failure

    def values(**request):
        connection.say(**request)
        answer = receive("parameterValues")
        assert answer["id"] == request["id"], answer
        return {parameter["name"]: parameter["value"] for parameter in answer["parameters"]}

    name = "/arm/robot.speed"
    before = values(op="getParameters", parameterNames=[name], id="a")
    after = values(op="setParameters", parameters=[{"name": name, "value": 12}], id="b")
    print(json.dumps({"reply": reply, "failure": failure["message"], "before": before, "after": after}))


if __name__ == "__main__":
    main()
