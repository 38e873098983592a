"""The boards of SessionTap. Edit these files and run ../generate; Grafana reads the JSON in ../grafana/boards."""
