import Hummingbird
print("hello")
