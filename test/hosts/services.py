"""Services made with other people's frameworks: `python services.py httpbin|fastapi|django PORT`."""

import json
import sys
import zlib
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server
from socketserver import ThreadingMixIn

kind, port = sys.argv[1], int(sys.argv[2])
NUMBERS = '{"id": 9007199254740993, "price": 1.10, "tiny": 0.1234567890123456789, "far": 1e400, "list": [1.0, -0, 2E5]}'
PNG = bytes.fromhex("89504e470d0a1a0a0000000d49484452ff")


def serve_wsgi(app):
    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True

    class Quiet(WSGIRequestHandler):
        def log_message(self, *_):
            pass

    make_server("127.0.0.1", port, app, server_class=Server, handler_class=Quiet).serve_forever()


def run_httpbin():
    from httpbin import app

    app.run(host="127.0.0.1", port=port, threaded=True)


def run_fastapi():
    import uvicorn
    from fastapi import Body, FastAPI, HTTPException, Response
    from fastapi.responses import PlainTextResponse
    from pydantic import BaseModel, Field

    app = FastAPI(title="Things")
    things: dict[int, dict] = {}

    class Part(BaseModel):
        name: str
        amount: int = Field(ge=1)

    class Thing(BaseModel):
        name: str
        parts: list[Part] = []

    @app.get("/numbers")
    def numbers():
        return Response(NUMBERS, media_type="application/json")

    @app.patch("/echo/{item_id}")
    def echo(item_id: int, limit: int = 9007199254740993, patch: dict = Body(...)):
        return {"item_id": item_id, "limit": limit, "patch": patch}

    @app.post("/things", status_code=201)
    def create_thing(thing: Thing):
        things[len(things) + 1] = thing.model_dump()
        return {"id": len(things), **thing.model_dump()}

    @app.get("/things")
    def list_things() -> list[dict]:
        return list(things.values())

    @app.get("/things/{thing_id}")
    def get_thing(thing_id: int) -> dict:
        if thing_id not in things:
            raise HTTPException(404, "no such thing")
        return things[thing_id]

    @app.delete("/things/{thing_id}", status_code=204)
    def delete_thing(thing_id: int):
        things.pop(thing_id, None)

    @app.get("/count")
    def count() -> int:
        return len(things)

    @app.get("/nothing")
    def nothing() -> None:
        return None

    @app.get("/text", response_class=PlainTextResponse)
    def text():
        return "grüße"

    @app.get("/latin1")
    def latin1():
        return Response("grüße".encode("latin-1"), headers={"Content-Type": "text/plain; charset=iso-8859-1"})

    @app.get("/wrong-charset")
    def wrong_charset():
        return Response("grüße".encode("latin-1"), headers={"Content-Type": "text/plain; charset=utf-8"})

    @app.get("/csv")
    def csv():
        return Response("a;b\n1.10;2\n", media_type="text/csv")

    @app.get("/lines")
    def lines():
        return Response('{"a": 1}\n{"a": 2}\n', media_type="application/x-ndjson")

    @app.get("/png", response_class=Response, responses={200: {"content": {"image/png": {}}}})
    def png():
        return Response(PNG, media_type="image/png")

    @app.get("/deflated")
    def deflated():
        return Response(zlib.compress(NUMBERS.encode()), media_type="application/json", headers={"Content-Encoding": "deflate"})

    @app.get("/problem")
    def problem():
        return Response('{"title": "no", "code": 1.10}', 409, media_type="application/problem+json")

    @app.get("/teapot")
    def teapot():
        return PlainTextResponse("short and stout", 418)

    @app.get("/broken")
    def broken():
        return Response('{"a": 1, "a": 2}', media_type="application/json")

    @app.get("/unavailable")
    def unavailable():
        raise HTTPException(503, "later")

    uvicorn.run(app, host="127.0.0.1", port=port, log_level="error")


def run_django():
    import django
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application

    settings.configure(
        ALLOWED_HOSTS=["*"],
        DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "file:things?mode=memory&cache=shared", "OPTIONS": {"uri": True}}},
        DEFAULT_AUTO_FIELD="django.db.models.BigAutoField",
        INSTALLED_APPS=["django.contrib.contenttypes", "django.contrib.auth", "rest_framework", "drf_spectacular"],
        REST_FRAMEWORK={"DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema", "DEFAULT_AUTHENTICATION_CLASSES": [], "PAGE_SIZE": 10,
                        "DEFAULT_PAGINATION_CLASS": "rest_framework.pagination.PageNumberPagination", "COERCE_DECIMAL_TO_STRING": False},
        ROOT_URLCONF=__name__,
        SECRET_KEY="for tests",
        SPECTACULAR_SETTINGS={"TITLE": "Berths", "VERSION": "1.0.0"},
    )
    django.setup()
    from django.db import connection, models
    from django.http import HttpResponse
    from django.urls import include, path
    from drf_spectacular.types import OpenApiTypes
    from drf_spectacular.utils import extend_schema
    from drf_spectacular.views import SpectacularAPIView
    from rest_framework import routers, serializers, viewsets
    from rest_framework.decorators import action

    class Berth(models.Model):
        number = models.BigIntegerField()
        price = models.DecimalField(max_digits=30, decimal_places=20)
        name = models.CharField(max_length=40)

        class Meta:
            app_label = "berths"
            ordering = ["id"]

    keep = connection.cursor()
    with connection.schema_editor() as editor:
        editor.create_model(Berth)
    for at in range(1, 4):
        Berth.objects.create(number=9007199254740993 + at, price="1.10000000000000000001", name=f"berth {at}")

    class BerthSerializer(serializers.ModelSerializer):
        class Meta:
            model = Berth
            fields = "__all__"

    class Berths(viewsets.ModelViewSet):
        queryset = Berth.objects.all()
        serializer_class = BerthSerializer

        @extend_schema(responses={(200, "text/csv"): OpenApiTypes.STR})
        @action(detail=False)
        def export(self, request):
            return HttpResponse("number\n9007199254740993\n", content_type="text/csv; charset=utf-8")

        @extend_schema(responses={(200, "application/pdf"): OpenApiTypes.BINARY})
        @action(detail=True)
        def plan(self, request, pk=None):
            return HttpResponse(PNG, content_type="application/pdf")

    router = routers.DefaultRouter()
    router.register("berths", Berths)
    global urlpatterns
    urlpatterns = [path("api/", include(router.urls)), path("schema/", SpectacularAPIView.as_view())]
    sys.modules["services_urls"] = sys.modules[__name__]
    keep and serve_wsgi(get_wsgi_application())


urlpatterns = []
{"httpbin": run_httpbin, "fastapi": run_fastapi, "django": run_django}[kind]()
