"""Data classes whose methods are compiled when they are first called.

``dataclasses.dataclass`` compiles up to six methods of a class when its module is imported: 35
classes of a replay of a few milliseconds took a sixth of its instructions, start of Python
included. Modules that a replay imports take their ``dataclass`` from here
(tests/unit/project/test_startup.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:
    import dataclasses
    from dataclasses import MISSING, FrozenInstanceError
    from operator import attrgetter

    def dataclass(cls=None, /, *, frozen=False, slots=False, kw_only=False):
        """``dataclasses.dataclass``, with three of its options.

        Only classes that were made here may inherit from a frozen one.
        """

        def decorate(cls):
            own = set(vars(cls))
            cls = dataclasses.dataclass(
                cls, init=False, repr=False, eq=False, slots=slots, kw_only=kw_only
            )
            methods = _comparison(cls, frozen) | {"__init__": _initialisation(cls, frozen)}
            if frozen:
                methods |= _protection(cls, slots)
            for name, method in methods.items():
                if name not in own:
                    setattr(cls, name, method)
            cls.__signature__ = _Signature(cls)
            return cls

        return decorate if cls is None else decorate(cls)

    def _comparison(cls, frozen):
        fields = dataclasses.fields(cls)
        shown = [field.name for field in fields if field.repr]
        compared = [field.name for field in fields if field.compare]
        values = attrgetter(*compared) if compared else lambda _: ()

        def show(self):
            text = ", ".join(f"{name}={getattr(self, name)!r}" for name in shown)
            return f"{self.__class__.__qualname__}({text})"

        def equals(self, other):
            if other.__class__ is not self.__class__:
                return NotImplemented
            return values(self) == values(other)

        def number(self):
            return hash(values(self))

        return {"__repr__": show, "__eq__": equals, "__hash__": number if frozen else None}

    def _initialisation(cls, frozen):
        def initialise(self, *args, **kwargs):
            cls.__init__ = compiled = _compiled_init(cls, frozen)
            compiled(self, *args, **kwargs)

        return initialise

    def _compiled_init(cls, frozen):
        names = {"_set": object.__setattr__, "_MISSING": MISSING}
        positional, named, body = ["self"], ["*"], []
        for field in dataclasses.fields(cls):
            name = value = parameter = field.name
            if field.default is not MISSING:
                names[f"_{name}"] = field.default
                parameter = f"{name}=_{name}"
            elif field.default_factory is not MISSING:
                names[f"_{name}"] = field.default_factory
                parameter = f"{name}=_MISSING"
                value = f"_{name}() if {name} is _MISSING else {name}"
            (named if field.kw_only else positional).append(parameter)
            body.append(f"_set(self, {name!r}, {value})" if frozen else f"self.{name} = {value}")
        if hasattr(cls, "__post_init__"):
            body.append("self.__post_init__()")
        parameters = ", ".join(positional + (named if len(named) > 1 else []))
        exec(f"def __init__({parameters}):\n " + "\n ".join(body or ["pass"]), names)
        init = names["__init__"]
        init.__qualname__ = f"{cls.__qualname__}.__init__"
        init.__module__ = cls.__module__
        return init

    def _protection(cls, slots):
        names = frozenset(field.name for field in dataclasses.fields(cls))

        def assign(self, name, value):
            if type(self) is cls or name in names:
                raise FrozenInstanceError(f"cannot assign to field {name!r}")
            super(cls, self).__setattr__(name, value)

        def delete(self, name):
            if type(self) is cls or name in names:
                raise FrozenInstanceError(f"cannot delete field {name!r}")
            super(cls, self).__delattr__(name)

        methods = {"__setattr__": assign, "__delattr__": delete}
        if slots:
            methods |= {"__getstate__": _state, "__setstate__": _restore}
        return methods

    # Copies and pickles of frozen objects without a dictionary.
    def _state(self):
        return [getattr(self, field.name) for field in dataclasses.fields(self)]

    def _restore(self, state):
        for field, value in zip(dataclasses.fields(self), state, strict=True):
            object.__setattr__(self, field.name, value)

    class _Signature:
        """The parameters of a class, for `inspect.signature`, with the types of its fields."""

        def __init__(self, cls):
            self.cls = cls

        def __get__(self, instance, owner):
            if owner is not self.cls or "__init__" not in vars(owner):
                raise AttributeError("__signature__")
            from inspect import Parameter, Signature

            parameters = []
            for field in dataclasses.fields(owner):
                default = field.default
                if default is MISSING and field.default_factory is not MISSING:
                    default = field.default_factory
                kind = Parameter.KEYWORD_ONLY if field.kw_only else Parameter.POSITIONAL_OR_KEYWORD
                parameters.append(
                    Parameter(
                        field.name,
                        kind,
                        default=Parameter.empty if default is MISSING else default,
                        annotation=field.type,
                    )
                )
            return Signature(sorted(parameters, key=lambda one: one.kind), return_annotation=None)
