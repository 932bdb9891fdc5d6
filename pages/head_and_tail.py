from pages.shared import frame

frame.guard()
