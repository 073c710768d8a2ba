"""Values for the fields of any message (smallest, largest, random ones), and comparison of messages."""
import random
import string

from rosidl_parser.definition import (
    AbstractGenericString, AbstractNestedType, Array, BasicType, BoundedSequence, NamespacedType)

INTEGERS = {
    'uint8': (0, 2 ** 8 - 1), 'int8': (-2 ** 7, 2 ** 7 - 1), 'uint16': (0, 2 ** 16 - 1),
    'int16': (-2 ** 15, 2 ** 15 - 1), 'uint32': (0, 2 ** 32 - 1), 'int32': (-2 ** 31, 2 ** 31 - 1),
    'uint64': (0, 2 ** 64 - 1), 'int64': (-2 ** 63, 2 ** 63 - 1),
}
# Floating-point numbers that 32 bits hold exactly.
FLOATS = [0.0, -0.0, 1.0, -1.5, 2.0 ** 100, -2.0 ** -100, float('inf'), float('-inf')]


class Filler:
    """Fills messages. `size` chooses between empty, random and the largest."""

    def __init__(self, seed, size):
        self.random = random.Random(seed)
        self.size = size

    def message(self, message):
        for name, kind in zip(message.get_fields_and_field_types(), message.SLOT_TYPES):
            setattr(message, name, self.value(kind, getattr(message, name)))
        return message

    def value(self, kind, present):
        if isinstance(kind, AbstractNestedType):
            return self.elements(kind)
        if isinstance(kind, NamespacedType):
            return self.message(type(present)())
        if isinstance(kind, AbstractGenericString):
            return self.text(kind)
        return self.basic(kind)

    def count(self, kind):
        if isinstance(kind, Array):
            return kind.size
        most = kind.maximum_size if isinstance(kind, BoundedSequence) else 5
        return {'empty': 0, 'large': most}.get(self.size, self.random.randint(0, most))

    def elements(self, kind):
        count = self.count(kind)
        of = kind.value_type
        if isinstance(of, NamespacedType):
            return [self.message(message_class(of)()) for _ in range(count)]
        values = [self.text(of) if isinstance(of, AbstractGenericString) else self.basic(of) for _ in range(count)]
        return values

    def text(self, kind):
        most = kind.maximum_size if kind.has_maximum_size() else 40
        count = {'empty': 0, 'large': most}.get(self.size, self.random.randint(0, most))
        # A bound counts bytes, so bounded strings are of ASCII.
        letters = string.ascii_letters + (' \'"\\' if kind.has_maximum_size() else ' \u00e4\u30cf\'"')
        return ''.join(self.random.choice(letters) for _ in range(count))

    def basic(self, kind):
        name = kind.typename
        if name == 'boolean':
            return self.size == 'large' or bool(self.random.getrandbits(1))
        if name == 'octet':
            return bytes([255 if self.size == 'large' else self.random.randrange(256)])
        if name in INTEGERS:
            least, most = INTEGERS[name]
            return {'empty': least, 'large': most}.get(self.size, self.random.randint(least, most))
        if name in ('float', 'double'):
            return self.random.choice(FLOATS)
        raise AssertionError(f'no values for {name}')


def message_class(kind):
    import importlib
    return getattr(importlib.import_module('.'.join(kind.namespaces)), kind.name)


def has_values(message_type):
    """Whether `Filler` knows all types of the fields."""
    def knows(kind):
        if isinstance(kind, AbstractNestedType):
            return knows(kind.value_type)
        return isinstance(kind, (NamespacedType, AbstractGenericString)) or (
            isinstance(kind, BasicType) and kind.typename in (*INTEGERS, 'boolean', 'octet', 'float', 'double'))
    return all(knows(kind) for kind in message_type.SLOT_TYPES)


def messages_of(package):
    """All types of messages of a package, by name."""
    import importlib
    module = importlib.import_module(package + '.msg')
    return {name: kind for name, kind in sorted(vars(module).items())
            if isinstance(kind, type) and hasattr(kind, 'SLOT_TYPES') and has_values(kind)}
