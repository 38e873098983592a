import SessionTap
import Testing
