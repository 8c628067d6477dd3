"""Actor, learner, bundle, worker, evaluator: each has `step()`, one unit of work, and knows interfaces only."""
