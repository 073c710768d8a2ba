"""The plots of the page of numbers."""


def draw(numbers):
    return {}
