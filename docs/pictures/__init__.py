"""The drawings of the book: the canvas, the pictures of ideas, the plots of numbers."""
