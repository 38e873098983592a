"""The boards and consoles of SessionTap. Edit these files and run ../generate; Grafana reads the JSON in ../grafana/boards, and
Prometheus the pages in ../consoles."""
