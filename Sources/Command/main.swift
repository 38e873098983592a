print("session-tap")
