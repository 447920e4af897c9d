from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import send_mail
from django.http import HttpResponse, HttpResponseBadRequest
from django.urls import reverse
from django.views.decorators.http import require_POST


@require_POST
def sign_up(request):
    email = request.POST["email"]
    user = User.objects.create_user(email, email=email, is_active=False)
    link = request.build_absolute_uri(reverse("confirm", args=[signing.dumps(user.pk)]))
    send_mail("Confirm your account", f"Open this link:\n{link}\n", None, [email])
    return HttpResponse("look into your mail", status=202)


def confirm(_request, token):
    try:
        user = signing.loads(token, max_age=3600)
    except signing.BadSignature:
        return HttpResponseBadRequest("this link is not valid")
    User.objects.filter(pk=user).update(is_active=True)
    return HttpResponse("confirmed")
