"""What a scheduler is asked while its client gives it up, and errors that have nothing to do with that."""

import pytest
from distributed.comm.core import CommClosedError

from pipeline.cluster.coordination.coordinator import Coordinator
from pipeline.cluster.glance import publish
from pipeline.cluster.scheduler import asked_of, scheduler_of
from pipeline.cluster.session import Session, open_session
from pipeline.errors import SchedulerLostError, UnreachableError
from tests.cluster.glances import glance
from tests.clusters import cluster_config, running_cluster


def test_between_its_closed_connections_and_its_end_a_client_says_the_same_sentence_whatever_is_asked() -> None:
    with running_cluster(num_hosts=1) as cluster:
        config = cluster_config("address", address=cluster.scheduler_address)
        with open_session(config, 1, 1) as session:
            client = session.client
            with Coordinator(client, "gone", lambda _: None) as coordinator:
                # As `Client._close` does, before it forgets its scheduler.
                client.status = "closing"
                client.sync(client.rpc.close)
                for call in (
                    session.present_hosts,
                    session.offers,
                    session.survey_again,
                    lambda: coordinator.let_roles_run({}),
                ):
                    with pytest.raises(SchedulerLostError, match="resume=true goes on"):
                        call()
                coordinator.stop_roles()
                publish(client, glance())
                session.forget([])
            client.status = "running"


def test_what_fails_while_the_scheduler_is_there_is_not_taken_for_its_loss(threads_session: Session) -> None:
    for ask in (scheduler_of, asked_of):
        with pytest.raises(RuntimeError, match="what the user's code raises"), ask(threads_session.client):
            raise RuntimeError("what the user's code raises")


def test_one_that_is_slow_may_go_on_and_one_whose_connection_breaks_is_lost(threads_session: Session) -> None:
    with pytest.raises(UnreachableError, match="resume=true goes on") as slow, asked_of(threads_session.client):
        raise TimeoutError
    assert not isinstance(slow.value, SchedulerLostError)
    with pytest.raises(SchedulerLostError, match="reset by peer"), asked_of(threads_session.client):
        raise CommClosedError("reset by peer")
    with pytest.raises(CommClosedError), scheduler_of(threads_session.client):
        raise CommClosedError("reset by peer")
