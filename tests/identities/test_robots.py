"""The random robots of the other tests have every feature, so that no law is checked on the easy ones only."""

from __future__ import annotations

from collections import Counter

from helpers.random_trees import ALL, LARGE_TREES, SMALL_TREES


def test_every_joint_kind() -> None:
    assert {joint.kind for robot in SMALL_TREES for joint in robot.joints} == set(ALL)


def test_branches_and_several_joints_on_the_base() -> None:
    parents = [Counter(joint.parent for joint in robot.joints) for robot in SMALL_TREES]
    assert any(count > 1 for each in parents for name, count in each.items() if name != "base")
    assert any(each["base"] > 1 for each in parents)


def test_followers_before_and_after_their_leaders_of_other_kinds_and_of_followers() -> None:
    before = after = other = chained = 0
    for robot in SMALL_TREES:
        order = [joint.name for joint in robot.joints]
        for joint in (joint for joint in robot.joints if joint.mimic is not None):
            leader = robot.joint(joint.mimic.joint)
            before += order.index(joint.name) < order.index(leader.name)
            after += order.index(joint.name) > order.index(leader.name)
            other += (joint.kind == "prismatic") != (leader.kind == "prismatic")
            chained += leader.mimic is not None
    assert min(before, after, other, chained) > 0


def test_rotors_and_gravity_in_any_direction() -> None:
    assert all(joint.armature > 0 for robot in SMALL_TREES for joint in robot.joints if joint.kind != "fixed")
    assert all(min(abs(x) for x in robot.gravity_vector) > 0 for robot in SMALL_TREES)


def test_sixty_joints() -> None:
    assert max(len(robot.tree.links) for robot in LARGE_TREES) == 60
