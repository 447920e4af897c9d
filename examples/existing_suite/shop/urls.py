from django.urls import path

from shop import views

urlpatterns = [
    path("sign-up/", views.sign_up, name="sign-up"),
    path("confirm/<token>/", views.confirm, name="confirm"),
]
